"""Histories: runs in the order of time, with one series of times per benchmark and environment."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..memory import Peaks
from .digest import Digest
from .index import Refused

Array = NDArray[np.float64]

COMMIT, DATE = "the commits' dates", "the runs' dates"
"""Orders of runs."""


@dataclass(frozen=True)
class HistoryRun:
    """One run: a file, or all files of a baseline record."""

    files: tuple[Path, ...]
    date: str
    """Time of the measurement, ISO 8601, UTC."""
    commit: str | None
    dirty: bool
    commit_date: str | None = None
    """Time of the commit, ISO 8601, UTC; None: unknown."""


@dataclass(frozen=True)
class Series:
    """The times of one benchmark in one environment."""

    benchmark: str
    label: str
    runs: NDArray[np.int_]
    """Indices of the history's runs that have the benchmark, ascending [n]."""
    logs: Array
    """Natural logarithm of the time in nanoseconds, mean over processes [n]."""
    peaks: tuple[tuple[int, Peaks], ...] = ()
    """Index and peak memory of each run that measured it, ascending."""


@dataclass(frozen=True)
class History:
    """The runs and series of one environment."""

    environment: str
    ordered_by: str
    runs: tuple[HistoryRun, ...]
    """The oldest first."""
    series: tuple[Series, ...]
    superseded: int
    """Number of series that ended because the benchmark's code, graph or way of measuring changed."""
    contended: int
    """Number of times that were excluded because of CPU contention."""
    older: int
    """Number of old runs beyond the newest that were asked for."""

    def date(self, run: HistoryRun) -> str:
        """Return the date by which a run has its place."""
        return run.commit_date or run.date if self.ordered_by == COMMIT else run.date


@dataclass
class _Recording:
    digests: list[Digest]
    files: list[Path]
    """With copies."""

    @property
    def date(self) -> str:
        return min(one.date for one in self.digests)

    def when(self, *, by_commit: bool) -> tuple[str, str, str]:
        first = self.digests[0].commit_date or "" if by_commit else self.date
        return first, self.date, str(min(self.files))

    def run(self) -> HistoryRun:
        dirty = any(one.dirty for one in self.digests)
        first = self.digests[0]
        return HistoryRun(tuple(sorted(self.files)), self.date, first.commit, dirty, first.commit_date)


@dataclass
class _Growing:
    label: str
    runs: list[int] = field(default_factory=list)
    logs: list[float] = field(default_factory=list)
    peaks: list[tuple[int, Peaks]] = field(default_factory=list)


def histories(digests: Mapping[Path, Digest], newest: int) -> tuple[list[History], list[Refused]]:
    """Build the histories; the one with most runs comes first.

    Args:
        digests: digests by file.
        newest: largest number of runs per environment.

    Returns:
        The histories, and the files of incomplete records.
    """
    groups: dict[tuple[str, object], dict[Path, Digest]] = {}
    for path, one in digests.items():
        groups.setdefault((one.environment, one.record or path), {})[path] = one
    refused: list[Refused] = []
    environments: dict[str, dict[tuple[str, str | None], _Recording]] = {}
    for (name, _), files in groups.items():
        path, first = next(iter(files.items()))
        if first.record and first.record[1] != len(files):
            reason = f"{path}: only {len(files)} of the record's {first.record[1]} processes are there"
            refused.extend(Refused(one, reason) for one in files)
            continue
        recording = _Recording(list(files.values()), list(files))
        runs = environments.setdefault(name, {})
        # Copies count once.
        known = runs.setdefault((recording.date, first.commit), recording)
        if known is not recording:
            known.files.extend(files)
    found = [_history(name, [*runs.values()], newest) for name, runs in environments.items()]
    return sorted(found, key=lambda one: (-len(one.runs), one.environment)), refused


def _history(name: str, runs: list[_Recording], newest: int) -> History:
    by_commit = all(run.digests[0].commit_date for run in runs)
    runs = sorted(runs, key=lambda run: run.when(by_commit=by_commit))
    kept = runs[-newest:]
    growing: dict[tuple[str, str], _Growing] = {}
    contended = 0
    for number, run in enumerate(kept):
        times: dict[tuple[str, str], list[float]] = {}
        peaks: dict[tuple[str, str], list[Peaks | None]] = {}
        for one in run.digests:
            for benchmark in one.benchmarks:
                key = (benchmark.fullname, benchmark.work)
                growing.setdefault(key, _Growing(benchmark.label))
                times.setdefault(key, []).extend(benchmark.logs)
                peaks.setdefault(key, []).append(benchmark.peaks and Peaks(*benchmark.peaks))
                contended += benchmark.contended
        for key, logs in times.items():
            if logs:
                growing[key].runs.append(number)
                growing[key].logs.append(math.fsum(logs) / len(logs))
        for key, found in peaks.items():
            if whole := Peaks.all(found):
                growing[key].peaks.append((number, whole))
    # If a benchmark was changed, only the series that was timed last is kept.
    last: dict[str, tuple[str, str]] = {}
    for key, grown in growing.items():
        if grown.runs and (key[0] not in last or grown.runs[-1] > growing[last[key[0]]].runs[-1]):
            last[key[0]] = key
    return History(
        name,
        COMMIT if by_commit else DATE,
        tuple(run.run() for run in kept),
        tuple(
            Series(
                key[0],
                growing[key].label,
                np.array(growing[key].runs),
                np.array(growing[key].logs),
                tuple(growing[key].peaks),
            )
            for key in last.values()
        ),
        sum(bool(one.runs) for one in growing.values()) - len(last),
        contended,
        len(runs) - len(kept),
    )
