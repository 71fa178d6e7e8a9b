"""The text of profiles: tables, findings, and the saved files."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import units
from ...profile import functions, kinds
from ...profile.record import FILE
from ...profile.tree import WIDTH, overhead
from . import side_by_side

_SIDE_BY_SIDE = ("phases", "layers")


@dataclass(frozen=True)
class Profile:
    """A saved record and its folder."""

    folder: Path
    """As it is displayed."""
    record: Mapping[str, Any]


def pages(profiles: Sequence[Profile], *, sort: str) -> Iterator[str]:
    """Yield a text for each benchmark; first, one table for benchmarks that differ only in the platform.

    Args:
        profiles: in display order.
        sort: sort order of functions, one of its ORDERS.
    """
    groups: dict[tuple[object, ...], list[Profile]] = {}
    for profile in profiles:
        groups.setdefault(_work(profile.record), []).append(profile)
    for group in groups.values():
        records = [profile.record for profile in group]
        together = [
            kind
            for kind in _SIDE_BY_SIDE
            if len(group) > 1 and all(kind in record["sections"] for record in records)
        ]
        for kind in together:
            yield f"{side_by_side.table(records, kind)}\n{_apart(records, kind)}"
        for profile in group:
            yield _page(profile, sort, without=together)


def _work(record: Mapping[str, Any]) -> tuple[object, ...]:
    """Return the key that the platforms in one table share."""
    spec = record["spec"]
    return tuple(value for name, value in spec.items() if name != "platform") if spec else (record["id"],)


def _apart(records: Sequence[Mapping[str, Any]], kind: str) -> str:
    overheads, firsts = [], []
    for record in records:
        platform, section = record["spec"]["platform"], record["sections"][kind]
        overheads.append(f"{platform} {overhead(section):.3f}")
        firsts.append(f"{platform} {units.seconds(section['rows'][0]['cold_ns'] / 1e9)}")
    text = (
        f"Time with ranges divided by time without, in turns: {', '.join(overheads)}. "
        f"First calls, not included: {', '.join(firsts)}."
    )
    return textwrap.fill(text, WIDTH)


def _page(profile: Profile, sort: str, without: Sequence[str]) -> str:
    parts = [profile.record["id"]]
    for kind, section in profile.record["sections"].items():
        if kind == "functions":
            table = functions.table(section, sort)
        elif kind in kinds.KINDS and kind not in without:
            table = kinds.load(kind).table(section)
        else:
            continue
        parts.append(f"{kind}: {kinds.KINDS[kind]}\n{table}")
    return "\n\n".join((*parts, _findings(profile.record["findings"]), _files(profile)))


def _findings(found: Sequence[Mapping[str, str]]) -> str:
    lines = ["findings" if found else "findings: none"]
    for one in found:
        for first, rest, text in (
            ("- ", "  ", one["text"]),
            ("  ", "  ", one["evidence"]),
            ("  → ", "    ", one["remedy"]),
        ):
            lines.append(textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=rest))
    return "\n".join(lines)


def _files(profile: Profile) -> str:
    names = sorted(path.name for path in profile.folder.iterdir() if path.name != FILE)
    files = textwrap.fill(", ".join((FILE, *names)), WIDTH, initial_indent="  ", subsequent_indent="  ")
    return f"saved in {profile.folder}\n{files}"
