"""The data of a page's rows, which the browser shows when a row is opened: facts, counts, layouts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ground import units
from ..measure.counter_changes import Counters
from ..measure.estimate import SHOWN_LEVEL
from .charts import layouts
from .charts.layouts import Band
from .document import effect
from .names import LONGEST, clean
from .style import PAGE
from .view import BenchmarkView
from .wording import detectable, memory_sentence, reasons

_POINTS = 60_000
"""Most layouts of all benchmarks together; each takes about seven bytes of the page."""
_OPERATORS = 60_000
"""Most operators of all benchmarks together."""
_FEWEST = 5
"""At least this many layouts per process and operators per benchmark."""
MOST_POINTS = 600
"""Most layouts of one benchmark that are drawn."""
_WORDS = {"base": "base", "head": "this"}


class Numbers:
    """Data of all rows."""

    def __init__(self, benchmarks: tuple[BenchmarkView, ...]) -> None:
        """Choose how many layouts and operators of each benchmark to keep."""
        processes = sum(len(one.processes) for one in benchmarks)
        self.points = min(max(_POINTS // max(processes, 1), _FEWEST), MOST_POINTS)
        """Most layouts of a process that are drawn."""
        self._operators = max(_OPERATORS // max(len(benchmarks), 1), _FEWEST)
        self.rows = [self._row(one) for one in benchmarks]
        self.thinned = sum(
            any(len(process.blocks_ns) > self.points for process in one.processes) for one in benchmarks
        )
        """Number of benchmarks with more layouts than are drawn."""

    def _row(self, one: BenchmarkView) -> dict[str, Any]:
        row: dict[str, Any] = {
            "facts": [[clean(text, LONGEST) for text in fact] for fact in facts(one)],
            "notes": [clean(note, LONGEST) for note in notes(one)],
        }
        if operators := _operators(one.counters):
            shown = operators[: self._operators]
            row["operators"] = [[clean(name, LONGEST), count] for name, count in shown]
            row["more"] = len(operators) - len(shown)
        if one.processes:
            unit_ns, unit = scale_of(one)
            found = bands(one, self.points)
            row |= {
                "unit": unit,
                "svg": layouts.svg(found, interval(one), unit, PAGE),
                "processes": [
                    [band.label, f"{len(process.blocks_ns):,}", *_quantiles(process.blocks_ns, unit_ns)]
                    for band, process in zip(found, one.processes, strict=True)
                ],
            }
        return row


def facts(one: BenchmarkView) -> list[tuple[str, str]]:
    """Return name and value of the facts shown in an opened row."""
    found = []
    if judged := one.row and one.row.judgement:
        found.append(("verdict", f"{one.verdict}: {judged.reason}"))
        if judged.own_low is not None:
            found.append(("per-benchmark interval", units.interval(judged.own_low, judged.own_high, 3)))
        if (smallest := detectable(judged)) is not None:
            found.append(("minimum detectable effect", effect(smallest)))
        if judged.base_processes or judged.head_processes:
            found.append(("processes", f"base {judged.base_processes}, head {judged.head_processes}"))
    if one.row and one.row.memory:
        found.append(("verdict on memory", memory_sentence(one.row.memory)))
    if measured := one.time:
        low, high = measured.low_seconds, measured.high_seconds
        if low is not None and high is not None:
            name = f"{units.level(SHOWN_LEVEL)} interval of the time"
            found.append((name, f"{units.seconds(low)} to {units.seconds(high)}"))
        found += [("estimate", measured.location), *measured.facts]
    if limit := one.limit:
        least = f"{units.size(limit.least.bytes)} moved, {limit.least.flops / 1e6:,.1f} million operations"
        found.append(
            ("fraction of the roofline bound", f"{units.fraction(limit.fraction)}; at least {least}")
        )
    return [*found, *_counts(one.counters)]


def _counts(counters: Counters | None) -> list[tuple[str, str]]:
    if not counters:
        return []
    found = [("host-device synchronisations", f"{counters.host_reads:,}")]
    if (peak := counters.memory.get("peak_bytes")) is not None:
        found.append(("peak memory", f"{units.size(peak)} more than before the call"))
    if (allocated := counters.memory.get("allocated_bytes")) is not None:
        found.append(("allocated", units.size(allocated)))
    return found


def _operators(counters: Counters | None) -> list[tuple[str, int]]:
    """Return name and number of calls, also of other libraries' functions, the most frequent first."""
    kinds = [counters.counts.get(kind, {}) for kind in ("operators", "library_calls")] if counters else []
    return sorted((one for counts in kinds for one in counts.items()), key=lambda one: -one[1])


def notes(one: BenchmarkView) -> list[str]:
    """Return the notes on a benchmark."""
    found = [*(one.row.notes if one.row else ())]
    if one.error:
        found.insert(0, f"interrupted: {one.error}")
    if one.time:
        found += one.time.remarks
    if one.limit and one.limit.note:
        found.append(f"above the roofline bound: {one.limit.note}")
    return found


def remarks(benchmarks: Sequence[BenchmarkView]) -> list[tuple[str, list[str]]]:
    """Return the notes on each benchmark by label, without those that a table of changed ones shows."""
    found = []
    for one in benchmarks:
        in_table = one.row.notes if one.row and one.is_changed else ()
        shown = [f"interrupted: {one.error}", *in_table]
        further = [note for note in notes(one) if note not in shown]
        found.append((one.label, [*(reasons(one.row.judgement) if one.row else ()), *further]))
    return found


def scale_of(one: BenchmarkView) -> tuple[float, str]:
    """Return the unit in which the layouts of a benchmark are shown: its nanoseconds, and its name."""
    layouts_ns = np.concatenate([process.blocks_ns for process in one.processes])
    divisor, unit = units.scale(one.seconds or float(np.median(layouts_ns)) / 1e9)
    return 1e9 * divisor, unit


def bands(one: BenchmarkView, most: int) -> list[Band]:
    """Return a band of dots for each process; of more than `most` layouts, evenly spaced ones."""
    unit_ns, _ = scale_of(one)
    sides = [process.side for process in one.processes]
    found = []
    for number, process in enumerate(one.processes):
        side, times = process.side, np.array(process.blocks_ns) / unit_ns
        several = side == "base" or sides.count(side) > 1
        name = f"{_WORDS[side]} {sides[: number + 1].count(side) if several else 'run'}"
        if len(times) > most:
            times = times[np.linspace(0, len(times) - 1, max(most, 1)).astype(int)]
        found.append(Band(name, side == "head", times.tolist()))
    return found


def of_sides(found: Sequence[Band]) -> list[Band]:
    """Return a band of dots for each side, of those of its processes."""
    sides = []
    for name, is_newer in (("base", False), ("head", True)):
        if of_side := [band for band in found if band.is_newer == is_newer]:
            label = f"{name}, {units.count(len(of_side), 'process')}"
            sides.append(Band(label, is_newer, [time for band in of_side for time in band.times]))
    return sides


def interval(one: BenchmarkView) -> dict[str, float] | None:
    """Return the benchmark's time and the bounds of its interval, in the unit; None if it is not known."""
    found, (unit_ns, _) = one.time, scale_of(one)
    if found is None:
        return None
    bounds = {"low": found.low_seconds, "high": found.high_seconds, "time": found.seconds}
    return {
        name: 1e9 * (found.seconds if bound is None else bound) / unit_ns for name, bound in bounds.items()
    }


def _quantiles(blocks_ns: Sequence[float], unit_ns: float) -> list[str]:
    """Write minimum, p10, median, p90 and maximum in a unit; ten times as fast as numpy.quantile."""
    places = np.array((0, 0.1, 0.5, 0.9, 1)) * (len(blocks_ns) - 1)
    found = np.interp(places, np.arange(len(blocks_ns)), np.sort(blocks_ns))
    return [f"{time:,.4g}" for time in found / unit_ns]
