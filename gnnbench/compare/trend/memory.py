"""Where the peak memory of a benchmark changes in a history: peaks are exact, so that two runs are enough."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..memory import MemoryChange, Peaks
from .history import History, HistoryRun, Series


@dataclass(frozen=True)
class MemoryStep:
    """One change of a peak."""

    before: int
    """Index of the last run of the history before the change."""
    at: int
    """Index of the first run with the new peak."""
    change: MemoryChange


@dataclass(frozen=True)
class WeighedSeries:
    """A series whose peak changed."""

    history: History
    series: Series
    steps: tuple[MemoryStep, ...]
    """In the order of time; at least one."""

    @property
    def heavier(self) -> bool:
        """Whether the last change was to more memory."""
        return self.steps[-1].change.is_more

    def between(self, step: MemoryStep) -> tuple[HistoryRun, HistoryRun]:
        """Return the last run before a change, and the first run after it."""
        return self.history.runs[step.before], self.history.runs[step.at]


def weighed(histories: Sequence[History]) -> tuple[WeighedSeries, ...]:
    """Return the series whose peak changed."""
    return tuple(
        WeighedSeries(history, series, found)
        for history in histories
        for series in history.series
        if (found := tuple(steps(series.peaks)))
    )


def steps(peaks: Sequence[tuple[int, Peaks]]) -> list[MemoryStep]:
    """Find the changes of a peak by at least 1 % and 64 KiB.

    Each run is compared with the first one since the last change: small changes add up.

    Args:
        peaks: index of the run, and its peaks.
    """
    found: list[MemoryStep] = []
    if not peaks:
        return found
    before, level = peaks[0]
    for run, here in peaks[1:]:
        change = MemoryChange.between(level, here)
        if change and change.changed:
            found.append(MemoryStep(before, run, change))
            level = here
        before = run
    return found
