"""The data of a page's rows, which the browser shows when a row is opened: facts, counts, layouts."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..ground import units
from ..measure.counter_changes import Counters
from ..measure.estimate import SHOWN_LEVEL
from .charts import layouts
from .document import effect
from .names import LONGEST, cleaned
from .style import PAGE
from .verdicts import remarks
from .view import BenchmarkView
from .wording import detectable, is_changed, memory_sentence

_POINTS = 60_000
"""Most layouts of all benchmarks together; each takes about seven bytes of the page."""
_FEWEST = 5
"""At least this many layouts per process."""
MOST_POINTS = 600
"""Most layouts of one benchmark that are drawn."""


class Numbers:
    """Data of all rows."""

    def __init__(self, benchmarks: Sequence[BenchmarkView]) -> None:
        """Choose how many layouts of each process to keep."""
        bands = [one.layouts.bands for one in benchmarks if one.layouts]
        self.points = min(max(_POINTS // max(sum(map(len, bands)), 1), _FEWEST), MOST_POINTS)
        """Most layouts of a process that are drawn."""
        self.thinned = sum(any(len(band.times) > self.points for band in each) for each in bands)
        """Number of benchmarks with more layouts than are drawn."""
        self.rows = [self._row(one) for one in benchmarks]

    def _row(self, one: BenchmarkView) -> dict[str, Any]:
        found = {"facts": facts(one), "notes": notes(one), "operators": _operators(one.timed.part.counters)}
        row: dict[str, Any] = cleaned(found, LONGEST)
        if chart := one.layouts:
            row |= {
                "unit": chart.unit,
                "svg": layouts.svg(chart.thinned(self.points), PAGE),
                "processes": [
                    [band.label, f"{len(band.times):,}", *_quantiles(band.times)] for band in chart.bands
                ],
            }
        return row


def facts(one: BenchmarkView) -> list[tuple[str, str]]:
    """Return name and value of the facts shown in an opened row."""
    found, part = [], one.timed.part
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
        if bounds := measured.interval:
            name = f"{units.level(SHOWN_LEVEL)} interval of the time"
            found.append((name, " to ".join(map(units.seconds, bounds))))
        found += [("estimate", measured.location), *measured.facts]
    if limit := part.limit:
        least = f"{units.size(limit.least.bytes)} moved, {limit.least.flops / 1e6:,.1f} million operations"
        bound = f"{units.fraction(limit.fraction)}; at least {least}"
        found.append(("fraction of the roofline bound", bound))
    return [*found, *(_counts(part.counters) if part.counters else ())]


def _counts(counters: Counters) -> Iterator[tuple[str, str]]:
    yield "host-device synchronisations", f"{counters.host_reads:,}"
    if (peak := counters.memory.get("peak_bytes")) is not None:
        yield "peak memory", f"{units.size(peak)} more than before the call"
    if (allocated := counters.memory.get("allocated_bytes")) is not None:
        yield "allocated", units.size(allocated)


def _operators(counters: Counters | None) -> list[tuple[str, int]]:
    """Return name and number of calls, also of other libraries' functions, the most frequent first."""
    kinds = [counters.counts.get(kind, {}) for kind in ("operators", "library_calls")] if counters else []
    return sorted((one for counts in kinds for one in counts.items()), key=lambda one: -one[1])


def notes(one: BenchmarkView) -> list[str]:
    """Return the notes on a benchmark."""
    error = [f"interrupted: {one.error}"] if one.error else []
    return [*error, *(one.row.notes if one.row else ()), *_measured(one)]


def further(one: BenchmarkView) -> list[str]:
    """Return the notes on a benchmark that the table of changed ones does not show."""
    unchanged = remarks(one.row) if one.row and not is_changed(one.row) else []
    return [*unchanged, *_measured(one)]


def _measured(one: BenchmarkView) -> list[str]:
    limit = one.timed.part.limit
    above = [f"above the roofline bound: {limit.note}"] if limit and limit.note else []
    return [*(one.time.remarks if one.time else ()), *above]


def _quantiles(times: Sequence[float]) -> list[str]:
    """Write minimum, p10, median, p90 and maximum; ten times as fast as numpy.quantile."""
    places = np.array((0, 0.1, 0.5, 0.9, 1)) * (len(times) - 1)
    return [f"{time:,.4g}" for time in np.interp(places, np.arange(len(times)), np.sort(times))]
