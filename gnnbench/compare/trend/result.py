"""The result of `gnnbench trend`: the steps of all series of all histories."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from . import steps
from .history import History, Series
from .steps import SHORTEST_SERIES, MemoryStep, Step

FORMAT_VERSION = 1
# 1: first version of `gnnbench trend --json`.

SERIES_LEVEL = 0.0005
"""Highest false positive rate for one series without steps."""
ALL_LEVEL = 0.005
"""Highest false positive rate for all series together, if none has a step."""
CURRENT = timedelta(days=30)
"""A series is current if it was timed in this period before the newest run."""
_FEWEST_TOGETHER = 4
"""With fewer benchmarks, common steps are not reported."""
_APART = 5
"""Common steps within this many runs are reported as one."""


@dataclass(frozen=True)
class JudgedSeries:
    """A series with its steps, in the order of time."""

    history: History
    series: Series
    steps: tuple[Step, ...] = ()
    """Of at least the effect; none if the series is too short."""
    small: tuple[Step, ...] = ()
    """Significant steps that are smaller than the effect."""
    memory: tuple[MemoryStep, ...] = ()
    """Changes of its peak memory, if the series is too short as well."""

    @property
    def long_enough(self) -> bool:
        """Whether it has the runs that are needed."""
        return len(self.series.runs) >= SHORTEST_SERIES

    @property
    def slower(self) -> bool:
        """Whether the last step made it slower."""
        return bool(self.steps) and self.steps[-1].slower

    @property
    def heavier(self) -> bool:
        """Whether the last change of its peak was to more memory."""
        return bool(self.memory) and self.memory[-1].change.is_more


@dataclass(frozen=True)
class TrendResult:
    """All histories with their steps."""

    histories: tuple[History, ...]
    series: tuple[JudgedSeries, ...]
    effect: float
    level: float
    """False positive rate for one series."""
    now: str
    """Time of the analysis, ISO 8601, UTC."""

    def of(self, history: History) -> list[JudgedSeries]:
        """Return the series of a history."""
        return [one for one in self.series if one.history is history]

    @property
    def judged(self) -> list[JudgedSeries]:
        """The series that are long enough."""
        return [one for one in self.series if one.long_enough]

    @property
    def slower(self) -> list[JudgedSeries]:
        """Current series that are slower since their last step."""
        return [one for one in self.series if one.slower and self.current(one)]

    @property
    def heavier(self) -> list[JudgedSeries]:
        """Current series that need more memory since the last change of their peak."""
        return [one for one in self.series if one.heavier and self.current(one)]

    def current(self, one: JudgedSeries) -> bool:
        """Tell whether a series was timed within `CURRENT` before the newest run of all histories."""
        # In the order of commits, the last run is not always the newest.
        last = max(one.history.runs[number].date for number in one.series.runs)
        return self._newest - datetime.fromisoformat(last) <= CURRENT

    @cached_property
    def _newest(self) -> datetime:
        """Date of the newest run; dates in the future are ignored."""
        dates = (run.date for history in self.histories for run in history.runs)
        return datetime.fromisoformat(max((date for date in dates if date <= self.now), default=self.now))


def judge(histories: Sequence[History], effect: float, now: str) -> TrendResult:
    """Look for steps in all series that are long enough, and for changes of memory in all.

    Args:
        histories: one per environment.
        effect: minimum effect of interest, as a fraction.
        now: current time, ISO 8601, UTC.
    """
    groups = [
        [JudgedSeries(history, one, memory=tuple(steps.of_memory(one))) for one in history.series]
        for history in histories
    ]
    level = min(SERIES_LEVEL, ALL_LEVEL / max(sum(one.long_enough for group in groups for one in group), 1))
    judged: list[JudgedSeries] = []
    for group in groups:
        judged += aligned([_with_steps(one, level, effect) for one in group])
    return TrendResult(tuple(histories), tuple(judged), effect, level, now)


def _with_steps(one: JudgedSeries, level: float, effect: float) -> JudgedSeries:
    found = steps.of_time(one.series, level) if one.long_enough else []
    matters = tuple(step for step in found if step.matters(effect))
    small = tuple(step for step in found if not step.matters(effect))
    return replace(one, steps=matters, small=small)


def together(judged: Sequence[JudgedSeries]) -> list[tuple[int, int, int]]:
    """Return the runs at which at least half of an environment's benchmarks have a step.

    If several runs are in equally many 95 % ranges, the one is taken at which most of these steps are.

    Args:
        judged: the series of one history.

    Returns:
        Of each run, its index, the number of changed benchmarks, and of all that are long enough; the newest
        first.
    """
    of = sum(one.long_enough for one in judged)
    if of < _FEWEST_TOGETHER:
        return []
    counts = [0] * len(judged[0].history.runs)
    likeliest: Counter[int] = Counter()
    for step in (step for one in judged for step in one.steps):
        likeliest[step.at] += 1
        for run in range(step.first, step.last + 1):
            counts[run] += 1
    found = []
    while (most := max(counts)) * 2 >= of:
        candidates = [run for run, count in enumerate(counts) if count == most]
        run = max(candidates, key=lambda run: (likeliest[run], run))
        found.append((run, most, of))
        near = slice(max(run - _APART, 0), run + _APART + 1)
        counts[near] = [0] * len(counts[near])
    return sorted(found, reverse=True)


def aligned(judged: Sequence[JudgedSeries]) -> list[JudgedSeries]:
    """Place the steps that benchmarks have together at one run, if it is in the step's 95 % range.

    So tables, notes, charts and files name the same run.

    Args:
        judged: the series of one history.
    """
    runs = [run for run, _, _ in together(judged)]
    found = []
    for one in judged:
        moved = tuple(_moved(one.series, step, runs) for step in one.steps)
        apart = len({step.at for step in moved}) == len(moved)  # of two steps, only one can be at a run
        found.append(replace(one, steps=moved) if apart else one)
    return found


def _moved(series: Series, step: Step, runs: Sequence[int]) -> Step:
    """Return a step at the first of the runs that is in its range, or else as it is."""
    for run in runs:
        later = series.runs[series.runs >= run]  # the series may have a gap there
        if step.first <= run and len(later) and later[0] <= step.last:
            return replace(step, at=int(later[0]))
    return step


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
        "too_short": len(result.series) - len(result.judged),
        "environments": [_environment(result, history) for history in result.histories],
    }


def _environment(result: TrendResult, history: History) -> dict[str, Any]:
    mine = result.of(history)
    return {
        "name": history.environment,
        "ordered_by": history.ordered_by,
        "runs": [
            {"date": run.date, "commit": run.commit, "dirty": run.dirty, "files": list(map(str, run.files))}
            for run in history.runs
        ],
        "older": history.older,
        "superseded": history.superseded,
        "disturbed": history.contended,
        "memory": {
            one.series.benchmark: {
                "current": result.current(one),
                "changes": [_memory_step(history, step) for step in one.memory],
            }
            for one in mine
            if one.memory
        },
        "benchmarks": {
            one.series.benchmark: {
                "runs": len(one.series.runs),
                "current": result.current(one),
                "slower": one.slower,
                "changes": [
                    *(_step(history, step, matters=True) for step in one.steps),
                    *(_step(history, step, matters=False) for step in one.small),
                ],
            }
            for one in mine
            if one.long_enough
        },
    }


def _memory_step(history: History, step: MemoryStep) -> dict[str, Any]:
    return {
        "verdict": step.change.verdict,
        "run": step.at,
        "base_bytes": step.change.base_bytes,
        "head_bytes": step.change.head_bytes,
        **_between(history, step.previous, step.at),
    }


def _step(history: History, step: Step, *, matters: bool) -> dict[str, Any]:
    return {
        "kind": "step",
        "matters": matters,
        "run": step.at,
        "first_run": step.first,
        "last_run": step.last,
        "before": step.before_ns,
        "after": step.after_ns,
        "ratio": step.ratio,
        "low": step.low,
        "high": step.high,
        **_between(history, step.previous, step.last),
    }


def _between(history: History, previous: int, last: int) -> dict[str, Any]:
    before, after = history.runs[previous], history.runs[last]
    return {
        "after_commit": before.commit,
        "after_dirty": before.dirty,
        "by_commit": after.commit,
        "by_dirty": after.dirty,
    }
