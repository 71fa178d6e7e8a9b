"""The numbers behind a page's rows, small enough to travel with it: what a browser shows of an opened row."""

from typing import Any

from .. import units
from . import layouts, verdicts
from .view import BenchmarkView, CallCounts

_POINTS = 150_000
"""Layouts' times of all benchmarks together: at two bytes each, packed, a tenth of what a page may have."""
_OPERATORS = 60_000
"""Names of operators with their counts, of all benchmarks together."""
_FEWEST = 5
"""Of a process or a benchmark, however many there are."""


class Numbers:
    """Rows, with every text kept once."""

    def __init__(self, benchmarks: tuple[BenchmarkView, ...]) -> None:
        """Decide how much of each benchmark there is room for."""
        processes = sum(len(one.processes) for one in benchmarks)
        self.points = min(max(_POINTS // max(processes, 1), _FEWEST), layouts.MOST_POINTS)
        """Layouts of a process that are drawn, at most."""
        self._operators = max(_OPERATORS // max(len(benchmarks), 1), _FEWEST)
        self._places: dict[str, int] = {}
        self.rows = [self._row(one) for one in benchmarks]
        self.thinned = sum(
            any(len(process.blocks_ns) > self.points for process in one.processes) for one in benchmarks
        )
        """Benchmarks of which not all layouts are drawn."""

    @property
    def texts(self) -> list[str]:
        """All texts; the rows have their places in it."""
        return list(self._places)

    def _text(self, text: str) -> int:
        return self._places.setdefault(text, len(self._places))

    def _row(self, one: BenchmarkView) -> dict[str, Any]:
        row: dict[str, Any] = {
            "facts": [[self._text(name), self._text(value)] for name, value in facts(one)],
            "notes": [self._text(note) for note in notes(one)],
        }
        if one.work and one.work.operators:
            shown = one.work.operators[: self._operators]
            row["operators"] = [[self._text(name), count] for name, count in shown]
            row["more"] = len(one.work.operators) - len(shown)
        if one.processes:
            found = layouts.thinned(one, self.points)
            row |= {
                "unit": found.unit,
                "step": found.step,
                "interval": [
                    [round(value / found.step, 1) for value in interval.values()]
                    for interval in found.interval(one)
                ],
                "processes": [
                    [self._text(name), int(side == "head"), count, quantiles, times]
                    for name, side, count, quantiles, times in zip(
                        found.names(), found.sides, found.counts, found.quantiles, found.times, strict=True
                    )
                ],
            }
        return row


def facts(one: BenchmarkView) -> list[tuple[str, str]]:
    """Return what is known of a benchmark beside its row, name and value."""
    found = []
    if judged := one.judgement:
        found.append(("verdict", f"{judged.verdict}: {judged.reason}"))
        if judged.own_low is not None:
            found.append(("own interval", units.interval(judged.own_low, judged.own_high, 3)))
        if judged.minimum_detectable_effect is not None:
            found.append(
                ("would have seen", f"a slowdown of {verdicts.sees(judged.minimum_detectable_effect)}")
            )
        if judged.base_processes or judged.head_processes:
            found.append(("processes", f"{judged.base_processes} older, {judged.head_processes} newer"))
    if measured := one.measured:
        bounds = (measured.low_seconds, measured.high_seconds)
        low, high = ("?" if bound is None else units.seconds(bound) for bound in bounds)
        if bounds != (None, None):
            found.append((f"{units.level(measured.level)} interval of the time", f"{low} to {high}"))
        found += [("the time is the", measured.location), *measured.facts]
    if limit := one.limit:
        least = f"{units.size(limit.bytes)} moved, {limit.flops / 1e6:,.1f} million operations"
        found.append(("fraction of the limit", f"{units.fraction(limit.fraction)}; at least {least}"))
    return [*found, *_work(one.work)]


def _work(work: CallCounts | None) -> list[tuple[str, str]]:
    if not work:
        return []
    found = [("host reads", f"{work.host_reads:,}")]
    if work.peak_bytes is not None:
        found.append(("peak memory", f"{units.size(work.peak_bytes)} above what was held before"))
    if work.allocated_bytes is not None:
        found.append(("allocated", units.size(work.allocated_bytes)))
    return found


def notes(one: BenchmarkView) -> list[str]:
    """Return what must be known of a benchmark."""
    found = [*one.notes]
    if one.error:
        found.insert(0, f"cut short: {one.error}")
    if one.measured:
        found += one.measured.remarks
    if one.limit and one.limit.note:
        found.append(f"over 100% of the limit, {one.limit.note}")
    return found
