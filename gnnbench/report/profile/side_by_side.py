"""Platforms side by side in one table, and the figures published in 2021 beside today's."""

import statistics
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from ... import units
from ...profile.tree import WIDTH
from .seed_notes import ITEM, SEED, SORT, SOURCE, Published

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


def seed_table(records: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of the published figures beside today's counts and fractions.

    It shows no times of today, because the hardware differs. The records are of one epoch, with the kind
    `layers`; the kind `phases` fills the rows of phases only.
    """
    specs = [record["spec"] or {} for record in records]
    profiled = str(specs[0].get("dataset"))
    dataset = profiled.partition(":")[0]
    if specs[0].get("operation") != "epoch" or dataset not in SEED:
        return f"Published figures exist only for the epoch on {' and '.join(SEED)}."
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
        f"Published: {SOURCE}. Count: per epoch. Average time: per call. Frac.: of the epoch; nested rows "
        "overlap and do not add up. Times are not comparable: hardware and versions differ. in_degrees: "
        "published without out_degrees, today with them. sgemm: published as a fraction of GPU time with the "
        "backward pass, today x·W of the forward pass. "
        f"Today's counts of argsort and .item() are the dispatcher's, of {SORT} and {ITEM}."
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
    """Return the calls per epoch of a range or operator, and the range's fraction of the epoch."""
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
