"""Platforms side by side in one table."""

import statistics
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from ... import units
from ...profile.tree import WIDTH

LAYER = "layer"
"""Common row name for the platforms' convolutions, whose class names differ."""
_EVENT = 26
_WHOLE = "the whole"

Times = dict[str, list[int]]
"""Range name: its time in each repeat, summed over all places; a range is never inside itself."""


def table(records: Sequence[Mapping[str, Any]], kind: str) -> str:
    """Return the median times of platforms in one table, with ratios to the first platform.

    `records` has one record per platform, of the same work, with the kind `phases` or `layers`.
    """
    platforms = [record["spec"]["platform"] for record in records]
    columns = [_times(record["sections"][kind]) for record in records]
    lines = [_line(kind, [*platforms], [""] * len(platforms))]
    for name in _merged([list(times) for times in columns]):
        found = [statistics.median(times[name]) if name in times else 0 for times in columns]
        ratios = [_ratio(value / found[0]) if value and found[0] else "" for value in found]
        lines.append(
            _line(name, [units.seconds(value / 1e9) if value else "" for value in found], ["", *ratios[1:]])
        )
    note = (
        f"Medians; ratios to {platforms[0]}. Indented rows are inside a phase, and may be inside one another."
    )
    layers = {
        f"{name} ({platform})": None
        for platform, record in zip(platforms, records, strict=True)
        for name in _layers(record["sections"][kind])
    }
    notes = [note, *([f"{LAYER}: {', '.join(layers)}."] if layers else [])]
    return "\n".join([*lines, *(textwrap.fill(text, WIDTH) for text in notes)])


def _times(section: Mapping[str, Any]) -> Times:
    """Return the times by name; names inside a phase are indented."""
    root, *rows = section["rows"]
    found: Times = {}
    for row in rows:
        depth, name = len(row["path"]) - 2, row["path"][-1]
        name = LAYER if _is_class(name) else name
        if depth:
            name = f"  {name}"
        if any(row["total_ns"]):
            before = found.get(name, [0] * len(row["total_ns"]))
            found[name] = [a + b for a, b in zip(before, row["total_ns"], strict=True)]
    return {**found, "the rest": root["self_ns"], _WHOLE: root["total_ns"]}


def _layers(section: Mapping[str, Any]) -> list[str]:
    return [row["path"][-1] for row in section["rows"] if _is_class(row["path"][-1])]


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
