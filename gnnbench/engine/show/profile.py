"""The text of profiles: tables, platforms side by side, findings, and the saved files."""

import statistics
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..ground import units
from ..ground.options import PROFILE_KINDS
from ..profile import kinds
from ..profile.record import FILE
from ..profile.text import WIDTH, nanoseconds, page
from ..profile.tree import overhead
from ..store.suite import installed

_SIDE_BY_SIDE = ("phases", "layers")
_LAYER = "layer"
"""Common row name for the platforms' convolutions, whose class names differ."""
_EVENT = 26

Profile = tuple[Path, Mapping[str, Any]]
"""A folder as it is displayed, and the content of its profile.json."""


def pages(profiles: Sequence[Profile]) -> Iterator[str]:
    """Yield a text for each benchmark; first, one table for benchmarks that differ only in the platform."""
    groups: dict[object, list[tuple[str, Profile]]] = {}
    for profile in profiles:
        spec = profile[1]["spec"]
        labels = installed().labels(spec) if spec else None
        work, platform = (labels.work, labels.platform) if labels else (profile[1]["id"], "")
        groups.setdefault(work, []).append((platform, profile))
    for group in groups.values():
        together = []
        for kind in _SIDE_BY_SIDE if len(group) > 1 else ():
            sections = [(platform, record["sections"].get(kind)) for platform, (_, record) in group]
            if all(section for _, section in sections):
                together.append(kind)
                yield side_by_side(kind, sections)
        for _, (folder, record) in group:
            yield _page(folder, record, without=together)


def side_by_side(kind: str, sections: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Return the median times of platforms in one table, with ratios to the first platform."""
    first, *others = (_medians(section["rows"]) for _, section in sections)
    lines = [_line(kind, *((platform, "") for platform, _ in sections))]
    for name in _merged([list(medians) for medians in (first, *others)]):
        base = first.get(name, 0)
        values = [medians.get(name, 0) for medians in others]
        ratios = [_ratio(value / base) if value and base else "" for value in values]
        times = [nanoseconds(value) if value else "" for value in (base, *values)]
        lines.append(_line(name, *zip(times, ("", *ratios), strict=True)))
    named = ((platform, row["path"][-1]) for platform, section in sections for row in section["rows"])
    layers = dict.fromkeys(f"{name} ({platform})" for platform, name in named if name[0].isupper())
    costs = [f"{platform} {overhead(section):.3f}" for platform, section in sections]
    colds = [f"{platform} {nanoseconds(section['rows'][0]['cold_ns'])}" for platform, section in sections]
    return page(
        lines,
        f"Medians; ratios to {sections[0][0]}. Indented rows are inside a phase, and may be inside one "
        "another.",
        *([f"{_LAYER}: {', '.join(layers)}."] if layers else []),
        f"Time with ranges divided by time without, in turns: {', '.join(costs)}. "
        f"First calls, not included: {', '.join(colds)}.",
    )


def _medians(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return median times by name, summed over all places; names inside a phase are indented."""
    root, *inner = rows
    times: dict[str, list[int]] = {}
    for row in inner:
        name = _LAYER if row["path"][-1][0].isupper() else row["path"][-1]
        name = f"  {name}" if len(row["path"]) > 2 else name  # noqa: PLR2004 - the call and a phase
        if any(row["total_ns"]):
            before = times.get(name, [0] * len(row["total_ns"]))
            times[name] = [a + b for a, b in zip(before, row["total_ns"], strict=True)]
    times |= {"the rest": root["self_ns"], "the whole": root["total_ns"]}
    return {name: statistics.median(each) for name, each in times.items()}


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


def _line(name: str, first: tuple[str, str], *others: tuple[str, str]) -> str:
    """Return a row, given the value of each platform and its ratio, which the first has not."""
    cells = "".join(f"{value:>9}{ratio:>6}" for value, ratio in others)
    return f"{name:<{_EVENT}}{first[0]:>9}{cells}".rstrip()


def _page(folder: Path, record: Mapping[str, Any], without: Sequence[str]) -> str:
    parts = [record["id"]]
    for kind, section in record["sections"].items():
        if kind in PROFILE_KINDS and kind not in without:
            parts.append(f"{kind}: {PROFILE_KINDS[kind]}\n{kinds.load(kind).table(section)}")
    lines = ["findings" if record["findings"] else "findings: none"]
    for finding in record["findings"]:
        for begin, indent, field in (
            ("- ", "  ", "text"),
            ("  ", "  ", "evidence"),
            ("  → ", "    ", "remedy"),
        ):
            lines.append(textwrap.fill(finding[field], WIDTH, initial_indent=begin, subsequent_indent=indent))
    names = [FILE, *sorted(path.name for path in folder.iterdir() if path.name != FILE)]
    files = textwrap.fill(", ".join(names), WIDTH, initial_indent="  ", subsequent_indent="  ")
    return "\n\n".join((*parts, "\n".join(lines), f"saved in {folder}\n{files}"))
