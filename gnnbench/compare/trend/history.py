"""Runs in the order of time, and one series of times for each benchmark of each environment."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .digest import Digest
from .index import Refused

Array = NDArray[np.float64]

COMMIT, DATE = "the commits' dates", "the runs' dates"
"""What runs are ordered by."""


@dataclass(frozen=True)
class HistoryRun:
    """The processes of one recording, or the one of a file."""

    files: tuple[Path, ...]
    date: str
    """When it was measured, in ISO's form, UTC."""
    commit: str | None
    dirty: bool


@dataclass(frozen=True)
class Series:
    """The times of one benchmark in one environment."""

    benchmark: str
    label: str
    runs: NDArray[np.int_]
    """Of the environment's runs those that have it, in their order [n]."""
    logs: Array
    """Natural logarithms of nanoseconds, means over processes [n]."""


@dataclass(frozen=True)
class History:
    """One environment's."""

    environment: str
    ordered_by: str
    runs: tuple[HistoryRun, ...]
    """The oldest first."""
    series: tuple[Series, ...]
    superseded: int
    """Series that ended when the benchmark's code, its graph or the way it is measured changed."""
    contended: int
    """Times that are left out because other programs took the processors."""
    older: int
    """Runs that are left out because there are newer ones enough."""


@dataclass
class _Recording:
    """What is known of a run."""

    digests: list[Digest]
    files: list[Path]
    """Copies among them."""

    @property
    def date(self) -> str:
        return min(one.date for one in self.digests)

    def when(self, *, by_commit: bool) -> tuple[str, str, str]:
        """Return what sorts runs."""
        first = self.digests[0].commit_date or "" if by_commit else self.date
        return first, self.date, str(min(self.files))

    def run(self) -> HistoryRun:
        dirty = any(one.dirty for one in self.digests)
        return HistoryRun(tuple(sorted(self.files)), self.date, self.digests[0].commit, dirty)


@dataclass
class _Growing:
    label: str
    runs: list[int] = field(default_factory=list)
    logs: list[float] = field(default_factory=list)


def histories(digests: Mapping[Path, Digest], newest: int) -> tuple[list[History], list[Refused]]:
    """Lay out the histories, the one with most runs first.

    Args:
        digests: of the files.
        newest: runs of each environment that are looked at.

    Returns:
        Them, and the files of records that lack one.
    """
    groups: dict[tuple[str, object], dict[Path, Digest]] = {}
    for path, one in digests.items():
        groups.setdefault((one.environment, one.record or path), {})[path] = one
    refused: list[Refused] = []
    environments: dict[str, dict[tuple[str, str | None], _Recording]] = {}
    for (name, _), files in groups.items():
        path, first = next(iter(files.items()))
        if first.record and first.record[1] != len(files):
            reason = f"{path}: its record has {first.record[1]} processes, and {len(files)} of them are here"
            refused.extend(Refused(one, reason) for one in files)
            continue
        recording = _Recording(list(files.values()), list(files))
        runs = environments.setdefault(name, {})
        # Copies of a file, or of all files of a record, are one run.
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
        for one in run.digests:
            for benchmark in one.benchmarks:
                key = (benchmark.fullname, benchmark.work)
                growing.setdefault(key, _Growing(benchmark.label))
                times.setdefault(key, []).extend(benchmark.logs)
                contended += benchmark.contended
        for key, logs in times.items():
            if logs:
                growing[key].runs.append(number)
                growing[key].logs.append(math.fsum(logs) / len(logs))
    # Of a benchmark that was changed, what was timed last is what there is today.
    last: dict[str, tuple[str, str]] = {}
    for key, grown in growing.items():
        if grown.runs and (key[0] not in last or grown.runs[-1] > growing[last[key[0]]].runs[-1]):
            last[key[0]] = key
    return History(
        name,
        COMMIT if by_commit else DATE,
        tuple(run.run() for run in kept),
        tuple(
            Series(key[0], growing[key].label, np.array(growing[key].runs), np.array(growing[key].logs))
            for key in last.values()
        ),
        sum(bool(one.runs) for one in growing.values()) - len(last),
        contended,
        len(runs) - len(kept),
    )
