"""Platforms in one table; and the figures beside which this project began."""

import statistics
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from ... import units
from ...profile.tree import WIDTH
from .seed_notes import ITEM, SEED, SORT, SOURCE, Published

LAYER = "layer"
"""What stands for the platforms' convolutions, each of which has the name of its class."""
_EVENT = 26
_WHOLE = "the whole"

Times = dict[str, list[int]]
"""Name of a range: its time in each repeat, wherever it was called; it is never within itself."""


def table(records: Sequence[Mapping[str, Any]], kind: str) -> str:
    """Put platforms beside each other: median times, and the ratios to the first.

    Args:
        records: one of each platform, of the same work.
        kind: `phases` or `layers`, which all of them have.
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
        f"Medians; ratios to {platforms[0]}. What is indented is within a phase, and may be within another."
    )
    layers = {
        f"{name} ({platform})": None
        for platform, record in zip(platforms, records, strict=True)
        for name in _layers(record["sections"][kind])
    }
    notes = [note, *([f"{LAYER}: {', '.join(layers)}."] if layers else [])]
    return "\n".join([*lines, *(textwrap.fill(text, WIDTH) for text in notes)])


def _times(section: Mapping[str, Any]) -> Times:
    """Return times by name, what is within a phase indented."""
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
    """Return all names, each after the one that it follows where it first is."""
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
    """Write a ratio in five places."""
    value = float(f"{value:.3g}")  # first, as in units
    return ">999x" if value >= 1000 else f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}x"  # noqa: PLR2004


def _line(name: str, values: Sequence[str], ratios: Sequence[str]) -> str:
    cells = [f"{value:>9}{ratio:>6}" for value, ratio in zip(values, ratios, strict=True)]
    return f"{name:<{_EVENT}}{values[0]:>9}{''.join(cells[1:])}".rstrip()


def seed_table(records: Sequence[Mapping[str, Any]]) -> str:
    """Put the published figures beside today's counts and fractions. Times on other hardware do not compare.

    Args:
        records: those of one epoch, with the kind `layers`, or `phases` for no more than these.
    """
    specs = [record["spec"] or {} for record in records]
    profiled = str(specs[0].get("dataset"))
    dataset = profiled.partition(":")[0]
    if specs[0].get("operation") != "epoch" or dataset not in SEED:
        return f"The seed notes have figures of the epoch on {' and '.join(SEED)} only."
    sections = {spec["platform"]: record["sections"] for spec, record in zip(specs, records, strict=True)}
    lines = []
    for notes in SEED[dataset]:
        found = sections.get(notes.platform, {})
        title = f"{notes.library}, {dataset}"
        lines.append(f"{title:<28}|{'published 2021':^35}|{f'today, {notes.platform}':^16}".rstrip())
        if profiled != dataset:
            lines.append(f"{profiled:>{WIDTH}}")
        lines.append(_seed_line("Event", "Count", "Average time", "Frac.", "Count", "Frac."))
        lines += [_seed_row(row, found) for row in notes.rows]
        lines.append("")
    text = (
        f"Published: {SOURCE}. Counts are of an epoch, average times of a call, fractions of the epoch; "
        "nested rows lie within others, and do not add up. Hardware and versions were others: times do not "
        "compare. Published in_degrees are without out_degrees, degrees today with them. "
        "Published sgemm is of the GPU's time, backward with it; today x·W of the forward pass. "
        f"Of argsort and .item() today's count is the dispatcher's, of {SORT} and {ITEM}."
    )
    return "\n".join([*lines, textwrap.fill(text, WIDTH)])


def _seed_row(row: Published, sections: Mapping[str, Any]) -> str:
    count, share = _today(row.name, sections)
    return _seed_line(
        row.event,
        "" if row.calls is None else str(row.calls),
        "" if row.milliseconds is None else units.seconds(row.milliseconds / 1e3),
        "" if row.share is None else units.fraction(row.share),
        "" if count is None else f"{count:g}",
        "" if share is None else units.fraction(share),
    )


def _today(name: str, sections: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return how often an epoch has a range or operator, and the range's fraction of it."""
    if name.startswith("aten::"):
        if "counts" not in sections:
            return None, None
        return sum(row["count"] for row in sections["counts"]["operators"] if row["name"] == name), None
    tree = sections.get("layers", sections.get("phases"))
    if tree is None:
        return None, None
    rows = [row for row in tree["rows"] if row["path"][-1] == name]
    whole_ns = sum(tree["rows"][0]["total_ns"])
    share = sum(sum(row["total_ns"]) for row in rows) / whole_ns
    return sum(statistics.mean(row["calls"]) for row in rows), share


def _seed_line(event: str, count: str, average: str, share: str, now_count: str, now_share: str) -> str:
    return f"{event:<28}|{count:>8} |{average:>14} |{share:>8} |{now_count:>6} |{now_share:>7}".rstrip()
