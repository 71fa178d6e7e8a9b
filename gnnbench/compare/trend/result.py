"""The result of `gnnbench trend`: the changes of all series of all histories."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np

from . import findings
from .findings import SeriesChange
from .history import History, HistoryRun, Series
from .memory import MemoryStep, WeighedSeries, weighed
from .penalty import SHORTEST_SERIES, Penalties

FORMAT_VERSION = 1
# 1: first version of `gnnbench trend --json`.

SERIES_LEVEL = 0.001
"""Highest false positive rate for one series without changes."""
ALL_LEVEL = 0.01
"""Highest false positive rate for all series together, if none changed."""
CURRENT = timedelta(days=30)
"""A series is current if it was timed in this period before the newest run."""
_FEWEST_TOGETHER = 4
"""With fewer benchmarks, common changes are not reported."""
_APART = 5
"""Common changes within this many runs are reported as one."""


@dataclass(frozen=True)
class JudgedSeries:
    """A series with its changes."""

    history: History
    series: Series
    findings: tuple[SeriesChange, ...]
    """Changes of at least the effect, in the order of time."""
    small: tuple[SeriesChange, ...]
    """Significant changes that are smaller than the effect."""

    @property
    def slower(self) -> bool:
        """Whether the last change of the level in `findings` made it slower."""
        levels = [one for one in self.findings if one.kind != "spread"]
        return bool(levels) and levels[-1].slower

    def run(self, place: int) -> int:
        """Return the index of the history's run at a place of the series."""
        return int(self.series.runs[place])

    def between(self, one: SeriesChange) -> tuple[HistoryRun, HistoryRun]:
        """Return the last run surely before a change (95 %), and the first run surely after it."""
        before = max(one.first - (one.kind != "drift"), 0)
        return tuple(self.history.runs[self.run(place)] for place in (before, one.last))  # type: ignore[return-value]


@dataclass(frozen=True)
class TrendResult:
    """All histories with their changes."""

    histories: tuple[History, ...]
    judged: tuple[JudgedSeries, ...]
    too_short: int
    """Number of series with too few runs."""
    effect: float
    level: float
    """False positive rate for one series."""
    now: str
    """Time of the analysis, ISO 8601, UTC."""
    weighed: tuple[WeighedSeries, ...] = ()
    """The series whose peak memory changed, of any length."""

    @property
    def slower(self) -> list[JudgedSeries]:
        """Current series that are slower since the last change of their level."""
        return [one for one in self.judged if one.slower and self.current(one)]

    @property
    def heavier(self) -> list[WeighedSeries]:
        """Current series that need more memory since the last change of their peak."""
        return [one for one in self.weighed if one.heavier and self.current(one)]

    def current(self, one: JudgedSeries | WeighedSeries) -> bool:
        """Tell whether a series was timed within `CURRENT` before the newest run of all histories."""
        # In the order of commits, the last run is not always the newest.
        last = max(one.history.runs[number].date for number in one.series.runs)
        return self._newest - datetime.fromisoformat(last) <= CURRENT

    @cached_property
    def _newest(self) -> datetime:
        """Date of the newest run; dates in the future are ignored."""
        dates = (run.date for history in self.histories for run in history.runs)
        return datetime.fromisoformat(max((date for date in dates if date <= self.now), default=self.now))


def judge(histories: Sequence[History], penalties: Penalties, effect: float, now: str) -> TrendResult:
    """Look for changes in all series that are long enough.

    Args:
        histories: one per environment.
        penalties: prepared for `lengths`.
        effect: minimum effect of interest, as a fraction.
        now: current time, ISO 8601, UTC.
    """
    long = [(history, one) for history, one in _all(histories) if len(one.runs) >= SHORTEST_SERIES]
    level = min(SERIES_LEVEL, ALL_LEVEL / max(len(long), 1))
    judged = []
    for history, one in long:
        found = findings.examine(one.logs, penalties.get(len(one.runs)), level, effect)
        matters = tuple(change for change in found if change.matters(effect))
        small = tuple(change for change in found if not change.matters(effect))
        judged.append(JudgedSeries(history, one, matters, small))
    too_short = sum(1 for _ in _all(histories)) - len(long)
    changed = aligned(judged)
    return TrendResult(tuple(histories), changed, too_short, effect, level, now, weighed(histories))


def lengths(histories: Iterable[History]) -> list[int]:
    """Return the lengths of the series that are long enough."""
    return [len(one.runs) for _, one in _all(histories) if len(one.runs) >= SHORTEST_SERIES]


def _all(histories: Iterable[History]) -> list[tuple[History, Series]]:
    return [(history, one) for history in histories for one in history.series]


def together(judged: Sequence[JudgedSeries], history: History) -> list[tuple[int, int, int]]:
    """Return the runs at which at least half of an environment's benchmarks changed their level.

    If several runs are in equally many 95 % ranges, the one is taken at which most of these changes are.

    Returns:
        Of each run, its index, the number of changed benchmarks, and of all; the newest first.
    """
    mine = [one for one in judged if one.history is history]
    counts = [0] * len(history.runs)
    likeliest: Counter[int] = Counter()
    for one in mine:
        for change in one.findings:
            if change.kind == "step":
                likeliest[one.run(change.at)] += 1
                for run in range(one.run(change.first), one.run(change.last) + 1):
                    counts[run] += 1
    found = []
    while len(mine) >= _FEWEST_TOGETHER and max(counts) * 2 >= len(mine):
        most = max(counts)
        candidates = [run for run, count in enumerate(counts) if count == most]
        run = max(candidates, key=lambda run: (likeliest[run], run))
        found.append((run, most, len(mine)))
        near = slice(max(run - _APART, 0), run + _APART + 1)
        counts[near] = [0] * len(counts[near])
    return sorted(found, reverse=True)


def aligned(judged: Sequence[JudgedSeries]) -> tuple[JudgedSeries, ...]:
    """Place the changes that benchmarks have together at one run, if it is in the change's 95 % range.

    So tables, notes, charts and files name the same run.
    """
    histories = {id(one.history): one.history for one in judged}
    runs = {key: [run for run, _, _ in together(judged, history)] for key, history in histories.items()}
    found = []
    for one in judged:
        moved = [_moved(one, change, runs[id(one.history)]) for change in one.findings]
        steps = [change.at for change in moved if change.kind == "step"]
        apart = len(set(steps)) == len(steps)  # of two steps, only one can be at a run
        ordered = tuple(sorted(moved, key=lambda change: change.at))
        found.append(replace(one, findings=ordered) if apart else one)
    return tuple(found)


def _moved(one: JudgedSeries, change: SeriesChange, runs: Sequence[int]) -> SeriesChange:
    """Return a step at the first of the runs that is in its range, or else as it is."""
    if change.kind == "step":
        for run in runs:
            at = int(np.searchsorted(one.series.runs, run))  # the series may have a gap there
            if one.run(change.first) <= run and at <= change.last:
                return replace(change, at=at)
    return change


def as_json(result: TrendResult, skipped: Sequence[str]) -> dict[str, Any]:
    """Return the JSON form, see docs/formats.md.

    Args:
        result: the result.
        skipped: one line for each file that could not be used.
    """
    return {
        "version": FORMAT_VERSION,
        "effect": result.effect,
        "level": result.level,
        "skipped": list(skipped),
        "too_short": result.too_short,
        "environments": [_environment(result, history) for history in result.histories],
    }


def _environment(result: TrendResult, history: History) -> dict[str, Any]:
    return {
        "name": history.environment,
        "ordered_by": history.ordered_by,
        "runs": [
            {
                "date": run.date,
                "commit": run.commit,
                "dirty": run.dirty,
                "files": [str(file) for file in run.files],
            }
            for run in history.runs
        ],
        "older": history.older,
        "superseded": history.superseded,
        "disturbed": history.contended,
        "memory": {
            one.series.benchmark: {
                "current": result.current(one),
                "changes": [_memory_step(one, step) for step in one.steps],
            }
            for one in result.weighed
            if one.history is history
        },
        "benchmarks": {
            one.series.benchmark: {
                "runs": len(one.series.runs),
                "current": result.current(one),
                "slower": one.slower,
                "changes": [
                    _change(one, change, matters=matters)
                    for changes, matters in ((one.findings, True), (one.small, False))
                    for change in changes
                ],
            }
            for one in result.judged
            if one.history is history
        },
    }


def _memory_step(one: WeighedSeries, step: MemoryStep) -> dict[str, Any]:
    before, after = one.between(step)
    return {
        "verdict": step.change.verdict,
        "run": step.at,
        "base_bytes": step.change.base_bytes,
        "head_bytes": step.change.head_bytes,
        "after_commit": before.commit,
        "after_dirty": before.dirty,
        "by_commit": after.commit,
        "by_dirty": after.dirty,
    }


def _change(one: JudgedSeries, change: SeriesChange, *, matters: bool) -> dict[str, Any]:
    before, after = one.between(change)
    return {
        "kind": change.kind,
        "matters": matters,
        "run": one.run(change.at),
        "first_run": one.run(change.first),
        "last_run": one.run(change.last),
        "before": change.before,
        "after": change.after,
        "ratio": change.ratio,
        "low": change.low,
        "high": change.high,
        "after_commit": before.commit,
        "after_dirty": before.dirty,
        "by_commit": after.commit,
        "by_dirty": after.dirty,
    }
