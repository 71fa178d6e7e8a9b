"""Compare the run files of two sides, benchmark by benchmark."""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np

from ..ground import cpu, environment, json_io, units
from ..judge.comparison import Compared, Comparison, Work
from ..judge.groups import SideTimings, judge
from ..judge.memory import MemoryChange, Peaks
from ..judge.verdict import SAME_CODE, Judgement, Thresholds, check_mean
from ..measure.counter_changes import CounterChange, changed
from ..measure.fingerprint.difference import Difference
from ..measure.fingerprint.fingerprint import Fingerprint
from ..store.run_file import Benchmark, RunFile
from . import repeat
from .result import Result, Side
from .settle import apply_excuses

_MOST, _MOST_WITHOUT_INTERVAL = 2.0, 5.0
"""Largest factors by which times of the same code may differ: for the interval, and for the ratio if there is
no interval. A bad memory layout can make a single process 4 times as slow."""

NO_ROUNDS = "no rounds in the file: save it with --benchmark-json, or add --benchmark-save-data"


def compare(
    base: Sequence[RunFile],
    head: Sequence[RunFile],
    thresholds: Thresholds,
    *,
    vanished: Collection[str] | None = None,
    confirming: int = 0,
) -> Comparison:
    """Judge the benchmarks of two sides. The benchmarks of the head come first.

    A benchmark whose sides run the same code is *same*, even in different environments. But if environments
    are equal and times far apart, its times are judged. The simultaneous interval covers all judged times.

    `vanished`: benchmarks of the base that the head should have too. If None: all in the head's shard, except
    those that the head did not run because they are not default. `confirming`: see `groups.judge`.
    """
    head_names = list(dict.fromkeys(name for run in head for name in run.benchmarks))
    base_names = list(dict.fromkeys(name for run in base for name in run.benchmarks))
    if vanished is None:
        vanished = {
            name
            for name in base_names
            if any(
                name not in run.part.not_default and (run.shard is None or run.shard.has(name))
                for run in head
            )
        }
    row_names = {*head_names, *vanished}
    # Include all benchmarks of the base: each helps to estimate the variance between processes.
    names = list(dict.fromkeys((*head_names, *base_names)))
    fields = differing_fields(base, head)
    mismatch = f"different environment: {describe_fields(fields)}" if fields else None
    benchmarks = {name: (_benchmarks(base, name), _benchmarks(head, name)) for name in row_names}
    differences = {name: _difference(old, new) for name, (old, new) in benchmarks.items()}
    same_code = {name for name, change in differences.items() if change is not None and not change}

    def judge_all(base_times: SideTimings, head_times: SideTimings) -> dict[str, Judgement]:
        # Benchmarks with the same code also help to estimate the variance, but need no interval.
        each, family = [thresholds.of(name) for name in names], len(row_names - same_code)
        verdicts = judge(base_times, head_times, thresholds, each=each, family=family, confirming=confirming)
        return dict(zip(names, verdicts, strict=True))

    estimates, means = zip(timings(base, names), timings(head, names), strict=True)
    judgements = judge_all(*estimates)
    if not fields and (far_apart := {name for name in same_code if _is_far(judgements[name])}):
        same_code -= far_apart
        judgements = judge_all(*estimates)
    for name, mean in judge_all(*means).items():
        judgements[name] = check_mean(judgements[name], mean, thresholds.of(name))
    for name in same_code:
        base_count, head_count = judgements[name].base_processes, judgements[name].head_processes
        judgements[name] = replace(SAME_CODE, base_processes=base_count, head_processes=head_count)
    return Comparison(
        [
            _row(name, *benchmarks[name], judgements[name], mismatch, differences[name])
            for name in names
            if name in row_names
        ]
    )


def result(
    base: Sequence[RunFile], head: Sequence[RunFile], thresholds: Thresholds, options: tuple[str, ...] = ()
) -> Result:
    """Return the comparison of two runs, with accepted changes and rules of the settings applied."""
    comparison, repetition = compare(base, head, thresholds), repeat.of_runs(base[0], head[0], options)
    base_side, head_side = Side.of_runs(base), Side.of_runs(head)
    return apply_excuses(Result("compare", base_side, head_side, comparison, thresholds, repeat=repetition))


def _is_far(judgement: Judgement) -> bool:
    """Tell whether times are so far apart that something outside the fingerprints must differ."""
    low, high, ratio = judgement.own_low, judgement.own_high, judgement.ratio
    if low is not None and high is not None:
        return low > _MOST or high < 1 / _MOST
    return ratio is not None and not 1 / _MOST_WITHOUT_INTERVAL < ratio < _MOST_WITHOUT_INTERVAL


def differing_fields(
    base: Sequence[RunFile], head: Sequence[RunFile], fields: Sequence[str] = environment.CONDITIONS
) -> list[tuple[str, Any, Any]]:
    """Return name and values of each environment field in which a file differs from the head's first file."""
    first = head[0]
    rows: dict[str, tuple[str, Any, Any]] = {}
    for run in (*base, *head[1:]):
        if run.environment and first.environment:
            differences = environment.differences(run.environment, first.environment, fields)
        else:
            differences = [
                (name, run.machine[name], value)
                for name, value in first.machine.items()
                if run.machine[name] != value
            ]
        for row in differences:
            rows.setdefault(row[0], row)
    return list(rows.values())


def check_alike(runs: Sequence[RunFile], fields: Sequence[str], problem: str, remedy: str) -> None:
    """Refuse files whose environments differ from the first file's. The message begins with `problem`."""
    for run in runs[1:]:
        if rows := differing_fields([runs[0]], [run], fields):
            reason = f"{problem} {runs[0].path}: they differ in {describe_fields(rows)}"
            json_io.refuse(run.path, reason, remedy)


def describe_fields(fields: Iterable[tuple[str, Any, Any]]) -> str:
    """Return differing fields as text: `threads 2 vs 4, gpu none vs A100`."""
    return ", ".join(f"{name} {first or 'none'} vs {other or 'none'}" for name, first, other in fields)


def _benchmarks(runs: Sequence[RunFile], name: str) -> list[Benchmark]:
    return [run.benchmarks[name] for run in runs if name in run.benchmarks]


def _difference(base: list[Benchmark], head: list[Benchmark]) -> Difference | None:
    """Return what differs between the fingerprints of two sides. Returns None if one is missing."""
    base_print, head_print = _fingerprint(base), _fingerprint(head)
    return Difference.between(base_print, head_print) if base_print and head_print else None


def _fingerprint(side: list[Benchmark]) -> Fingerprint | None:
    """Return the fingerprint of a side. A single file may have it. None if the files' fingerprints differ."""
    parts = [benchmark.part for benchmark in side]
    prints = [part.comparable_fingerprint for part in parts if part.fingerprint or part.no_fingerprint]
    first = prints[0] if prints else None
    return first if first and all(row and row.same_code(first) for row in prints) else None


def timings(runs: Sequence[RunFile], names: Sequence[str]) -> tuple[SideTimings, SideTimings]:
    """Return the estimates of a side, and its mean calls. NaN: the process was disturbed, or has no time."""
    rows: list[list[tuple[float, ...]]] = []
    blank = (math.nan,) * 4
    for run in runs:
        columns = [run.benchmarks[name].processes if name in run.benchmarks else () for name in names]
        rows.extend(
            [
                (row.log, row.error, row.mean, row.mean_error) if row and row.is_evidence else blank
                for row in processes
            ]
            for processes in zip_longest(*columns)
        )
    table = np.array(rows, dtype=float).reshape(len(rows), len(names), 4)
    return SideTimings(table[..., 0], table[..., 1]), SideTimings(table[..., 2], table[..., 3])


def _row(
    name: str,
    base: list[Benchmark],
    head: list[Benchmark],
    judgement: Judgement,
    mismatch: str | None,
    difference: Difference | None,
) -> Compared:
    """Return the row of a benchmark. It is *incomparable* if the sides were measured differently."""
    if not base or not head:
        reason = "new: not in the baseline" if head else "missing: in the baseline, but not timed in this run"
        return Compared(
            name, replace(judgement, reason=reason), seconds(head), labels=(base + head)[0].labels
        )
    redefinition = _redefined(base, head)
    if judgement.same_code:
        notes = (f"{redefinition.partition(':')[0]}, but the code is the same",) if redefinition else ()
        work = Work(difference)
        return Compared(name, judgement, seconds(head), notes=notes, labels=head[0].labels, work=work)
    estimands = _change(base, head, lambda benchmark: benchmark.estimand)
    method = without_times(base + head) or (f"measured differently: {estimands}" if estimands else None)
    contention = contended_on(head, "head") or contended_on(base, "base")
    if obstacle := mismatch or redefinition or method or contention:
        judgement = Judgement(
            "incomparable",
            obstacle,
            ratio=judgement.ratio,
            head_processes=judgement.head_processes,
            base_processes=judgement.base_processes,
        )
    no_fingerprint = next(filter(None, (row.part.no_fingerprint for row in base + head)), None)
    cost = judgement.ratio if difference is not None and not difference else None
    work = Work(difference, _counters(base, head), no_fingerprint, cost=cost)
    return Compared(
        name,
        judgement,
        seconds(head),
        work.notes(),
        head[0].labels,
        work,
        redefinition,
        memory=None if mismatch or redefinition else MemoryChange.between(_peaks(base), _peaks(head)),
    )


def _peaks(side: list[Benchmark]) -> Peaks | None:
    return Peaks.all(Peaks.of(benchmark.part.memory) for benchmark in side)


def _redefined(base: list[Benchmark], head: list[Benchmark]) -> str | None:
    """Return how the two sides define a benchmark differently. The code that it times does not count."""
    if change := _change(base, head, lambda benchmark: benchmark.part.graph_hash):
        return f"different graph: content hash {change}"
    if not all(benchmark.part.definition_hash for benchmark in base + head):
        return None  # a benchmark that gnnbench did not time has no hash
    change = _change(base, head, lambda benchmark: benchmark.part.definition_hash)
    return f"different definition of the benchmark: hash {change}" if change else None


def without_times(benchmarks: Sequence[Benchmark]) -> str | None:
    """Return why a benchmark has no times. Returns None if each of `benchmarks` has times."""
    return None if all(benchmark.processes for benchmark in benchmarks) else NO_ROUNDS


def _change(base: list[Benchmark], head: list[Benchmark], field: Callable[[Benchmark], str | None]) -> str:
    """Return both sides' values of a field, `a vs b`. Empty if they are equal."""
    before, after = (list(dict.fromkeys(map(field, side))) for side in (base, head))
    if before == after:
        return ""
    return " vs ".join(" and ".join(value or "not saved" for value in side) for side in (before, after))


def contended_on(benchmarks: Sequence[Benchmark], side: str) -> str | None:
    """Return a reason if other programs disturbed all processes of a side. Returns None otherwise."""
    processes = [process for benchmark in benchmarks for process in benchmark.processes]
    if not processes or any(process.is_evidence for process in processes):
        return None
    limit = units.fraction(cpu.CONTENDED)
    return f"other programs used more than {limit} of the CPU time while the {side} was timed"


def _counters(base: list[Benchmark], head: list[Benchmark]) -> tuple[CounterChange, ...]:
    before, after = base[0].part.counters, head[0].part.counters
    if not before or not after:
        return ()
    return changed(before.counts, after.counts, [*before.unsteady, *after.unsteady])


def seconds(benchmarks: Sequence[Benchmark]) -> float | None:
    """Return a benchmark's time: the geometric mean of all processes. Returns None if it was not measured."""
    logs = [process.log for benchmark in benchmarks for process in benchmark.processes]
    return math.exp(sum(logs) / len(logs)) / 1e9 if logs else None
