"""Histories: runs in the order of time, with one series of times per benchmark and environment."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..memory import Peaks
from .run_digests import BenchmarkDigest, Digest

Array = NDArray[np.float64]

COMMIT, DATE = "the commits' dates", "the runs' dates"
"""Orders of runs."""


@dataclass(frozen=True)
class HistoryRun:
    """One run: a file, or all files of a baseline record."""

    files: tuple[Path, ...]
    """With copies."""
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
    """Its fullname."""
    runs: NDArray[np.int_]
    """Indices of the history's runs that have the benchmark, ascending [n]."""
    logs: Array
    """Natural logarithm of the time in nanoseconds, mean over processes [n]."""
    peaks: Sequence[tuple[int, Peaks]] = ()
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

    def date(self, run: int) -> str:
        """Return the date by which a run has its place."""
        found = self.runs[run]
        return found.commit_date or found.date if self.ordered_by == COMMIT else found.date


_Recorded = tuple[HistoryRun, list[Digest]]


def histories(digests: Mapping[Path, Digest], newest: int) -> tuple[list[History], list[str]]:
    """Build the histories; the one with most runs comes first.

    Args:
        digests: digests by file.
        newest: largest number of runs per environment.

    Returns:
        The histories, and a line for each file of an incomplete record.
    """
    groups: dict[tuple[str, Path], dict[Path, Digest]] = {}
    for path, one in digests.items():
        record = path.with_name(re.sub(r"_p\d+$", "", path.stem)) if one.processes else path
        groups.setdefault((one.environment, record), {})[path] = one
    refused: list[str] = []
    environments: dict[str, dict[tuple[str, str | None], _Recorded]] = {}
    for (name, _), files in groups.items():
        parts = list(files.values())
        if (needed := parts[0].processes) and needed != len(parts):
            refused += [
                f"{path}: only {len(parts)} of the record's {needed} processes are there" for path in files
            ]
            continue
        first, date = parts[0], min(one.date for one in parts)
        run = HistoryRun(tuple(files), date, first.commit, any(one.dirty for one in parts), first.commit_date)
        runs = environments.setdefault(name, {})
        if known := runs.get((date, first.commit)):  # copies count once
            run, parts = replace(known[0], files=(*known[0].files, *files)), known[1]
        runs[date, first.commit] = replace(run, files=tuple(sorted(run.files))), parts
    found = [_history(name, list(runs.values()), newest) for name, runs in environments.items()]
    return sorted(found, key=lambda one: (-len(one.runs), one.environment)), refused


def _history(name: str, runs: Sequence[_Recorded], newest: int) -> History:
    by_commit = all(run.commit_date for run, _ in runs)
    runs = sorted(
        runs, key=lambda one: (one[0].commit_date if by_commit else "", one[0].date, str(one[0].files[0]))
    )
    kept = runs[-newest:]
    logs: dict[tuple[str, str], list[tuple[int, float]]] = {}
    peaks: dict[tuple[str, str], list[tuple[int, Peaks]]] = {}
    contended = 0
    for number, (_, digests) in enumerate(kept):
        found: dict[tuple[str, str], list[BenchmarkDigest]] = {}
        for digest in digests:
            for one in digest.benchmarks:
                found.setdefault((one.fullname, one.work), []).append(one)
        for key, processes in found.items():
            contended += sum(one.contended for one in processes)
            if times := [log for one in processes for log in one.logs]:
                logs.setdefault(key, []).append((number, math.fsum(times) / len(times)))
            if peak := Peaks.all(one.peaks for one in processes):
                peaks.setdefault(key, []).append((number, peak))
    # If a benchmark was changed, only the series that was timed last is kept.
    last: dict[str, tuple[str, str]] = {}
    for key, timed in logs.items():
        if key[0] not in last or timed[-1][0] > logs[last[key[0]]][-1][0]:
            last[key[0]] = key
    return History(
        name,
        COMMIT if by_commit else DATE,
        tuple(run for run, _ in kept),
        tuple(
            Series(
                fullname,
                np.array([run for run, _ in logs[key]]),
                np.array([log for _, log in logs[key]]),
                peaks.get(key, ()),
            )
            for fullname, key in last.items()
        ),
        len(logs) - len(last),
        contended,
        len(runs) - len(kept),
    )
