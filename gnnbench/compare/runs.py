"""Saved runs of two sides, judged benchmark by benchmark."""

import difflib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import environment, units
from ..results import counter_baseline
from ..results.run_file import Benchmark, RunFile
from .two_sample import SideTimings, judge
from .verdict import Judgement, Thresholds

_MODE_CHANGE = 0.1
"""Of the share of slow layouts, and as many standard errors as `_MODE_ERRORS`, that is worth saying."""
_MODE_ERRORS = 4.0

_RENAMED = 0.75
"""Likeness of two names, see difflib."""
_MANY = 50
"""Names among which a likeness is looked for: where more are gone, another suite or graph was run."""


@dataclass(frozen=True)
class Compared:
    """One benchmark on both sides."""

    fullname: str
    judgement: Judgement
    seconds: float | None
    """The head's time, the mean of its processes; None where it was not measured."""
    contended: bool = False
    """Whether other programs had, or may have had, the processors whenever the head was timed."""
    notes: tuple[str, ...] = ()
    """What stands beside the verdict: counters that differ, changed weights of layout modes."""
    spec: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Comparison:
    """All benchmarks of two sides."""

    rows: list[Compared]
    shared: Judgement | None
    """See `two_sample.JudgedRun`."""


def compare(
    base: Sequence[RunFile],
    head: Sequence[RunFile],
    thresholds: Thresholds,
    *,
    family: int | None = None,
    vanished: Collection[str] | None = None,
    confirming: int = 0,
) -> Comparison:
    """Judge the benchmarks of two sides, those of the head first.

    Args:
        base: processes of the older side; at least one.
        head: of the newer side; at least one.
        thresholds: what a verdict needs.
        family: benchmarks that the interval for all at once counts; None: those on either side.
        vanished: names that the base has and the head should have had; None: all that it has not and that
            do not belong to another shard.
        confirming: further processes that measure what looks slower, which lowers the
            minimum detectable effect.
    """
    here = list(dict.fromkeys(name for run in head for name in run.benchmarks))
    there = list(dict.fromkeys(name for run in base for name in run.benchmarks))
    if vanished is None:
        vanished = {name for name in there if any(run.shard is None or run.shard.has(name) for run in head)}
    shown = {*here, *vanished}
    # All that the base has, as it tells how much processes differ; in the order of the head, which is one run
    # where the base may be several, as neighbours tell a drift.
    names = _merged(here, there)
    renamed = _renamed(set(vanished) - set(here), set(here) - set(there))
    mismatch = _mismatch(base, head)
    sides = _side(base, names), _side(head, names)
    counted = len(shown) if family is None else family
    judged = judge(*sides, thresholds, family=counted, confirming=confirming)
    found = dict(zip(names, judged.benchmarks, strict=True))
    rows = [
        _row(name, _found(base, name), _found(head, name), found[name], mismatch, renamed.get(name))
        for name in [*here, *(name for name in there if name not in set(here))]
        if name in shown
    ]
    return Comparison(rows, None if mismatch else judged.shared)


def _merged(first: list[str], second: list[str]) -> list[str]:
    """Return all names in the order of one side, those that only the other has after the ones before them."""
    known = set(first)
    after: dict[str | None, list[str]] = {}
    previous = None
    for name in second:
        if name in known:
            previous = name
        else:
            after.setdefault(previous, []).append(name)
    return [*after.get(None, ()), *(one for name in first for one in (name, *after.get(name, ())))]


def differing_fields(base: Sequence[RunFile], head: Sequence[RunFile]) -> list[tuple[str, Any, Any]]:
    """Return each field of the environments in which some file of one side differs from the head's first."""
    here = head[0]
    found: dict[str, tuple[str, Any, Any]] = {}
    for run in (*base, *head[1:]):
        if run.environment and here.environment:
            fields = environment.differences(run.environment, here.environment)
        else:
            fields = [
                (name, run.machine[name], value)
                for name, value in here.machine.items()
                if run.machine[name] != value
            ]
        for field in fields:
            found.setdefault(field[0], field)
    return list(found.values())


def _mismatch(base: Sequence[RunFile], head: Sequence[RunFile]) -> str | None:
    fields = differing_fields(base, head)
    return f"other environment: {describe_fields(fields)}" if fields else None


def describe_fields(fields: Iterable[tuple[str, Any, Any]]) -> str:
    """Write fields of two environments that differ: the other's value, then that of here."""
    return ", ".join(f"{name} {there or 'none'} there, {here or 'none'} here" for name, there, here in fields)


def _found(runs: Sequence[RunFile], name: str) -> list[Benchmark]:
    return [run.benchmarks[name] for run in runs if name in run.benchmarks]


def _side(runs: Sequence[RunFile], names: Sequence[str]) -> SideTimings:
    """Lay out what processes measured: a row for each process of each file."""
    rows: list[list[tuple[float, float]]] = []
    missing = (math.nan, math.nan)
    for run in runs:
        columns = [run.benchmarks[name].processes if name in run.benchmarks else () for name in names]
        rows.extend(
            [
                (column[number].log, column[number].error)
                if number < len(column) and column[number].is_evidence
                else missing
                for column in columns
            ]
            for number in range(max(map(len, columns), default=0))
        )
    table = np.array(rows, dtype=float).reshape(len(rows), len(names), 2)
    return SideTimings(table[..., 0], table[..., 1])


def _row(
    name: str,
    base: list[Benchmark],
    head: list[Benchmark],
    judgement: Judgement,
    mismatch: str | None,
    renamed: str | None,
) -> Compared:
    if not base or not head:
        reason = _one_sided(renamed, new=bool(head))
        return Compared(name, replace(judgement, reason=reason), _seconds(head), spec=_spec(base + head))
    contended = {"here": _contended(head), "there": _contended(base)}
    others = (f"{why} {where}" for where, why in contended.items() if why)
    hindrance = mismatch or _different_work(base, head) or next(others, None)
    if hindrance:
        judgement = Judgement(
            "incomparable",
            hindrance,
            ratio=judgement.ratio,
            head_processes=judgement.head_processes,
            base_processes=judgement.base_processes,
        )
    notes = (*_counters(base, head), *_modes(base, head))
    return Compared(name, judgement, _seconds(head), contended["here"] is not None, notes, _spec(head))


def _one_sided(renamed: str | None, *, new: bool) -> str:
    """Say that a benchmark is new or gone, and what it may be called on the other side."""
    what = "new: not in the baseline" if new else "vanished: in the baseline, and not timed in this run"
    return f"{what}; renamed {'from' if new else 'to'} {renamed}?" if renamed else what


def _renamed(vanished: Collection[str], new: Collection[str]) -> dict[str, str]:
    """Return what a benchmark that one side lacks may be called there: one of the same test function."""
    found: dict[str, str] = {}
    for names, others in ((vanished, new), (new, vanished)):
        for name in names:
            alike = [one for one in others if one.partition("[")[0] == name.partition("[")[0]]
            near = difflib.get_close_matches(name, alike, n=1, cutoff=_RENAMED) if len(alike) <= _MANY else ()
            found.update((name, one) for one in near)
    return found


def _different_work(base: list[Benchmark], head: list[Benchmark]) -> str | None:
    if not all(benchmark.processes for benchmark in base + head):
        return "no raw data: save with --benchmark-save-data, or as --benchmark-json does"
    kinds = (
        ("graph_hash", "another graph: its content hash is"),
        ("code_hash", "other code of the benchmark: its hash is"),
        ("estimand", "measured in another way:"),
    )
    for field, words in kinds:
        there, here = (list(dict.fromkeys(getattr(one, field) for one in side)) for side in (base, head))
        if there != here:
            texts = (" and ".join(value or "not saved" for value in side) for side in (there, here))
            return f"{words} {next(texts)} there, {next(texts)} here"
    return None


def _contended(side: list[Benchmark]) -> str | None:
    """Say why no process of a side is evidence, where that is so because of other programs."""
    processes = [process for benchmark in side for process in benchmark.processes]
    if not processes or any(process.is_evidence for process in processes):
        return None
    if any(process.contended for process in processes):
        return "other programs took the processors while it was timed"
    return "time it again: nobody looked whether other programs took the processors while it was timed"


def _counters(base: list[Benchmark], head: list[Benchmark]) -> list[str]:
    """Name what a call does now and did not do, or the other way round."""
    there, here = base[0].counters, head[0].counters
    if not there or not here:
        return []
    changed = counter_baseline.differences(
        there["counts"], here["counts"], [*there["unsteady"], *here["unsteady"]]
    )
    return [f"counters: {', '.join(changed)}"] if changed else []


def _modes(base: list[Benchmark], head: list[Benchmark]) -> list[str]:
    """Say where the share of slow layouts changed, which is no change of the code's speed."""
    shares, errors = [], []
    for side in (base, head):
        slow = np.array([1 - one.modes[0][1] if len(one.modes) > 1 else 0.0 for one in side])
        blocks = sum(process.blocks for one in side for process in one.processes)
        shares.append(float(slow.mean()))
        errors.append(max(float(slow.std()) / math.sqrt(len(slow)), 0.5 / math.sqrt(max(blocks, 1))))
    change = abs(shares[1] - shares[0])
    if change < max(_MODE_CHANGE, _MODE_ERRORS * math.hypot(*errors)):
        return []
    factors = [one.modes[1][0] / one.modes[0][0] for one in base + head if len(one.modes) > 1]
    there, here = map(units.fraction, shares)
    return [f"layouts {np.median(factors):.1f}x slower: {there} of them there, {here} here"]


def _seconds(head: list[Benchmark]) -> float | None:
    logs = [process.log for benchmark in head for process in benchmark.processes]
    return math.exp(sum(logs) / len(logs)) / 1e9 if logs else None


def _spec(found: list[Benchmark]) -> Mapping[str, Any] | None:
    return found[0].spec if found else None
