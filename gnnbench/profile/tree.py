"""Times a call as a tree of ranges: the common part of `phases`, `layers` and `ranges`."""

import statistics
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import units
from ..measure.garbage import collector_paused
from .places import Target
from .subject import Subject

if TYPE_CHECKING:
    from .ranges import RangeRow

ROOT = "call"
"""Name of the range around the whole call."""

WIDTH = 80
_EVENT = 30


def measure(
    subject: Subject, targets: Sequence[Target], clock: Callable[[], int], *, functions: bool = False
) -> dict[str, Any]:
    """Time a call with ranges: a first call, then calls with and without ranges in turns.

    Args:
        subject: what is called.
        targets: the functions that become ranges.
        clock: returns nanoseconds.
        functions: see `Ranges`.

    Returns:
        `rows`, `plain_ns` of each call without ranges, `missing` and `nvtx`; see docs/formats.md.
    """
    from .ranges import RangeRow, Ranges

    ranges = Ranges(targets, subject.device, clock=clock, functions=functions)

    def ranged() -> "list[RangeRow]":
        with subject.ready(), collector_paused():
            ranges.switch(on=True)
            with ranges.range(ROOT):
                subject.call()
            ranges.switch(on=False)
        return ranges.times()

    def plain() -> int:
        with subject.ready(), collector_paused():
            start = clock()
            subject.call()
            return clock() - start

    with ranges:
        ranges.switch(on=False)
        cold = {row.path: row.total_ns for row in ranged()}
    repeats: list[dict[tuple[str, ...], RangeRow]] = []
    plain_ns = []
    with ranges:  # search again: the first call may have imported libraries
        ranges.switch(on=False)
        for number in range(subject.repeats):
            if number % 2:  # alternate the order, so that cache effects affect both alike
                plain_ns.append(plain())
            repeats.append({row.path: row for row in ranged()})
            if not number % 2:
                plain_ns.append(plain())
    last = repeats[-1]  # has every path
    none = RangeRow((), 0, 0, 0)
    return {
        "rows": [
            {
                "path": list(path),
                "calls": [rows.get(path, none).calls for rows in repeats],
                "cold_ns": cold.get(path, 0),
                "total_ns": [rows.get(path, none).total_ns for rows in repeats],
                "self_ns": [rows.get(path, none).self_ns for rows in repeats],
            }
            for path in last
        ],
        "plain_ns": plain_ns,
        "missing": list(ranges.missing),
        "nvtx": subject.device == "cuda",
    }


def overhead(section: Mapping[str, Any]) -> float:
    """Return the ratio of the median times with and without ranges."""
    root = section["rows"][0]
    return statistics.median(root["total_ns"]) / statistics.median(section["plain_ns"])


def table(section: Mapping[str, Any]) -> str:
    """Return the tree as a table; outermost ranges do not overlap, nor do the times in the column `Self`."""
    root, *rows = section["rows"]
    whole_ns = sum(root["total_ns"])
    repeats = len(root["total_ns"])
    lines = [_line("Event", "Count", "Average time", "IQR", "Frac.", "Self", "First")]
    lines += [_cells(row, "  " * (len(row["path"]) - 2) + row["path"][-1], whole_ns) for row in rows]
    rest = {**root, "total_ns": root["self_ns"], "cold_ns": None}
    lines += [
        _cells(rest, "the rest", whole_ns),
        _cells({**root, "self_ns": root["total_ns"]}, "the whole", whole_ns),
    ]
    plain_ns = statistics.median(section["plain_ns"])
    legend = (
        "Count: over all repeats, without the first call. IQR: of the repeats' times, relative to the "
        "median. Self: without the rows indented below."
    )
    cost = (
        f"A call took {overhead(section):.3f} times as long with ranges as without "
        f"({units.seconds(plain_ns / 1e9)}; medians of {repeats})."
    )
    notes = [legend, cost, *section["missing"]]
    return "\n".join([*lines, *(textwrap.fill(note, WIDTH) for note in notes)])


def _cells(row: Mapping[str, Any], event: str, whole_ns: int) -> str:
    total_ns, count = sum(row["total_ns"]), sum(row["calls"])
    return _line(
        event if len(event) <= _EVENT else f"{event[: _EVENT - 1]}…",
        f"{count}",
        units.seconds(total_ns / count / 1e9) if count else "",
        units.fraction(_spread(row["total_ns"])) if count else "",
        units.fraction(total_ns / whole_ns),
        units.fraction(sum(row["self_ns"]) / whole_ns),
        "" if row["cold_ns"] is None else units.seconds(row["cold_ns"] / 1e9),
    )


def _spread(values: Sequence[int]) -> float:
    """Return the interquartile range over the median; 0 if the median is 0."""
    if len(values) == 1:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle if middle else 0.0


def _line(event: str, count: str, average: str, spread: str, share: str, own: str, first: str) -> str:
    return f"{event:<{_EVENT}} {count:>5} {average:>13} {spread:>5} {share:>6} {own:>6} {first:>8}"
