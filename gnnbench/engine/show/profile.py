"""The text of profiles: tables, platforms side by side, findings, and the saved files."""

import statistics
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..ground import units
from ..ground.options import PROFILE_KINDS
from ..profile import kinds
from ..profile.findings import Finding
from ..profile.record import FILE, ProfileRecord
from ..profile.text import WIDTH, nanoseconds, page
from ..profile.tree import overhead

_SIDE_BY_SIDE = ("phases", "layers")
_LAYER = "layer"
"""Common row name for the platforms' convolutions, whose class names differ."""
_EVENT = 26

Times = dict[str, list[int]]
"""Range name: its time in each repeat, summed over all places; a range is never inside itself."""


@dataclass(frozen=True)
class Profile:
    """A saved record and its folder."""

    folder: Path
    """As it is displayed."""
    record: ProfileRecord


def pages(profiles: Sequence[Profile]) -> Iterator[str]:
    """Yield a text for each benchmark; first, one table for benchmarks that differ only in the platform."""
    groups: dict[object, list[Profile]] = {}
    for profile in profiles:
        labels = profile.record.labels
        groups.setdefault(labels.work if labels else profile.record.id, []).append(profile)
    for group in groups.values():
        together = []
        if len(group) > 1:
            for kind in _SIDE_BY_SIDE:
                sections = [(_platform(one), one.record.section(kind)) for one in group]
                if all(section for _, section in sections):
                    together.append(kind)
                    yield side_by_side(kind, sections)
        for profile in group:
            yield _page(profile, without=together)


def side_by_side(kind: str, sections: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Return the median times of platforms in one table, with ratios to the first platform."""
    platforms = [platform for platform, _ in sections]
    columns = [_times(section) for _, section in sections]
    lines = [_line(kind, platforms, [""] * len(platforms))]
    for name in _merged([list(times) for times in columns]):
        found = [statistics.median(times[name]) if name in times else 0 for times in columns]
        ratios = [_ratio(value / found[0]) if value and found[0] else "" for value in found]
        lines.append(_line(name, [nanoseconds(value) if value else "" for value in found], ["", *ratios[1:]]))
    layers = dict.fromkeys(
        f"{row['path'][-1]} ({platform})"
        for platform, section in sections
        for row in section["rows"]
        if _is_class(row["path"][-1])
    )
    overheads = (f"{platform} {overhead(section):.3f}" for platform, section in sections)
    firsts = (f"{platform} {nanoseconds(section['rows'][0]['cold_ns'])}" for platform, section in sections)
    note = (
        f"Medians; ratios to {platforms[0]}. Indented rows are inside a phase, and may be inside one another."
    )
    costs = (
        f"Time with ranges divided by time without, in turns: {', '.join(overheads)}. "
        f"First calls, not included: {', '.join(firsts)}."
    )
    return page(lines, note, *([f"{_LAYER}: {', '.join(layers)}."] if layers else []), costs)


def _platform(profile: Profile) -> str:
    return profile.record.labels.platform if profile.record.labels else ""


def _times(section: Mapping[str, Any]) -> Times:
    """Return the times by name; names inside a phase are indented."""
    root, *rows = section["rows"]
    found: Times = {}
    for row in rows:
        name = row["path"][-1]
        name = _LAYER if _is_class(name) else name
        if len(row["path"]) > 2:  # noqa: PLR2004 - the call and a phase
            name = f"  {name}"
        if any(row["total_ns"]):
            before = found.get(name, [0] * len(row["total_ns"]))
            found[name] = [a + b for a, b in zip(before, row["total_ns"], strict=True)]
    return {**found, "the rest": root["self_ns"], "the whole": root["total_ns"]}


def _is_class(name: str) -> bool:
    return name[0].isupper()


def _merged(orders: Sequence[Sequence[str]]) -> list[str]:
    """Return all names once, each after the name that it follows where it first appears."""
    merged: list[str] = []
    for names in orders:
        place = 0
        for name in names:
            if name in merged:
                place = merged.index(name) + 1
            else:
                merged.insert(place, name)
                place += 1
    return merged


def _ratio(value: float) -> str:
    """Write a ratio in at most five characters."""
    if float(f"{value:.3g}") >= 1000:  # noqa: PLR2004 - four digits
        return ">999x"
    if value < 0.1:  # noqa: PLR2004 - there is no room for the other way round
        return f"{value:.2f}x" if value >= 0.005 else "<.01x"  # noqa: PLR2004
    return units.ratio(value)


def _line(name: str, values: Sequence[str], ratios: Sequence[str]) -> str:
    cells = [f"{value:>9}{ratio:>6}" for value, ratio in zip(values, ratios, strict=True)]
    return f"{name:<{_EVENT}}{values[0]:>9}{''.join(cells[1:])}".rstrip()


def _page(profile: Profile, without: Sequence[str]) -> str:
    parts = [profile.record.id]
    for kind in profile.record.sections:
        if kind in PROFILE_KINDS and kind not in without:
            table = kinds.load(kind).table(profile.record.section(kind))
            parts.append(f"{kind}: {PROFILE_KINDS[kind]}\n{table}")
    names = sorted(path.name for path in profile.folder.iterdir() if path.name != FILE)
    files = textwrap.fill(", ".join((FILE, *names)), WIDTH, initial_indent="  ", subsequent_indent="  ")
    return "\n\n".join((*parts, _findings(profile.record.findings), f"saved in {profile.folder}\n{files}"))


def _findings(found: Sequence[Finding]) -> str:
    lines = ["findings" if found else "findings: none"]
    for one in found:
        for first, rest, text in (
            ("- ", "  ", one.text),
            ("  ", "  ", one.evidence),
            ("  → ", "    ", one.remedy),
        ):
            lines.append(textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=rest))
    return "\n".join(lines)
