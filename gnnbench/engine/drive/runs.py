"""Compare the run files of two sides, benchmark by benchmark."""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..ground import cpu, environment, units
from ..judge.comparison import Compared, Comparison, Work
from ..judge.groups import SideTimings, judge
from ..judge.memory import MemoryChange, Peaks
from ..judge.verdict import SAME_CODE, Judgement, Thresholds
from ..measure.counter_changes import CounterChange, changed
from ..measure.fingerprint.difference import Difference
from ..measure.fingerprint.fingerprint import Fingerprint
from ..store.benchmark import Benchmark
from ..store.run_file import RunFile

_FAR, _FAR_ALONE = 2.0, 5.0
"""Times of the same code are not this many times apart: their interval, or the ratio where there is none. A
process alone may have a layout in memory that takes 4 times as long as another one."""

NO_ROUNDS = "no rounds in the file: save it with --benchmark-json, or add --benchmark-save-data"


def compare(
    base: Sequence[RunFile],
    head: Sequence[RunFile],
    thresholds: Thresholds,
    *,
    vanished: Collection[str] | None = None,
    confirming: int = 0,
) -> Comparison:
    """Judge the benchmarks of two sides; the rows begin with those of the head.

    If both sides of a benchmark run the same code, it is *same*, whatever the environment, unless times in
    one environment are far apart. The simultaneous interval covers the other benchmarks.

    `vanished`: benchmarks of the base that the head should have too; None: all of its shard that it did not
    leave out as not default.
    """
    here = list(dict.fromkeys(name for run in head for name in run.benchmarks))
    there = list(dict.fromkeys(name for run in base for name in run.benchmarks))
    if vanished is None:
        vanished = {
            name
            for name in there
            if any(
                name not in run.part.not_default and (run.shard is None or run.shard.has(name))
                for run in head
            )
        }
    shown = {*here, *vanished}
    # All benchmarks of the base: they help to estimate the variance between processes.
    names = list(dict.fromkeys((*here, *there)))
    fields = differing_fields(base, head)
    mismatch = f"different environment: {describe_fields(fields)}" if fields else None
    sides = timings(base, names), timings(head, names)
    differences = {name: _difference(_found(base, name), _found(head, name)) for name in shown}
    same_code = {name for name, one in differences.items() if one is not None and not one}

    def judged() -> dict[str, Judgement]:
        # Those with the same code help to estimate the variance too, but need no interval.
        each, family = [thresholds.of(name) for name in names], len(shown - same_code)
        verdicts = judge(*sides, thresholds, each=each, family=family, confirming=confirming)
        return dict(zip(names, verdicts, strict=True))

    found = judged()
    if not fields and (far := {name for name in same_code if _is_far(found[name])}):
        same_code -= far
        found = judged()
    for name in same_code:
        counts = found[name].base_processes, found[name].head_processes
        found[name] = replace(SAME_CODE, base_processes=counts[0], head_processes=counts[1])
    return Comparison(
        [
            _row(name, _found(base, name), _found(head, name), found[name], mismatch, differences[name])
            for name in names
            if name in shown
        ]
    )


def _is_far(found: Judgement) -> bool:
    """Tell whether times are so far apart that something differs which the fingerprints do not have."""
    low, high = found.own_low, found.own_high
    if low is not None and high is not None:
        return low > _FAR or high < 1 / _FAR
    return found.ratio is not None and not 1 / _FAR_ALONE < found.ratio < _FAR_ALONE


def differing_fields(base: Sequence[RunFile], head: Sequence[RunFile]) -> list[tuple[str, Any, Any]]:
    """Return name and both values of each environment field in which a file differs from the head's first."""
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


def describe_fields(fields: Iterable[tuple[str, Any, Any]]) -> str:
    """Write fields that differ: `threads 2 vs 4, gpu none vs A100`."""
    return ", ".join(f"{name} {one or 'none'} vs {other or 'none'}" for name, one, other in fields)


def _found(runs: Sequence[RunFile], name: str) -> list[Benchmark]:
    return [run.benchmarks[name] for run in runs if name in run.benchmarks]


def _difference(base: list[Benchmark], head: list[Benchmark]) -> Difference | None:
    """Return what differs between the fingerprints of two sides. Returns None if a side has none."""
    there, here = _fingerprint(base), _fingerprint(head)
    return Difference.between(there, here) if there and here else None


def _fingerprint(side: list[Benchmark]) -> Fingerprint | None:
    """Return the fingerprint that all files of a side have; None: there is no such fingerprint."""
    found = [one.part.comparable_fingerprint for one in side]
    return found[0] if found and all(one == found[0] for one in found) else None


def timings(runs: Sequence[RunFile], names: Sequence[str]) -> SideTimings:
    """Return the times of benchmarks, a column each, in all processes of a side that are evidence."""
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
    difference: Difference | None,
) -> Compared:
    if not base or not head:
        reason = "new: not in the baseline" if head else "missing: in the baseline, but not timed in this run"
        return Compared(
            name, replace(judgement, reason=reason), seconds(head), labels=(base + head)[0].labels
        )
    redefined = _redefined(base, head)
    if judgement.same_code:
        known = all(one.part.definition_hash for one in base + head)
        notes = (f"{redefined.partition(':')[0]}, but it runs the same code",) if redefined and known else ()
        work = Work(difference)
        return Compared(name, judgement, seconds(head), notes=notes, labels=head[0].labels, work=work)
    measured = _measured_differently(base, head)
    contended = contended_on(head, "head") or contended_on(base, "base")
    hindrance = mismatch or redefined or measured or contended
    if hindrance:
        judgement = Judgement(
            "incomparable",
            hindrance,
            ratio=judgement.ratio,
            head_processes=judgement.head_processes,
            base_processes=judgement.base_processes,
        )
    unseen = next((why for one in base + head if (why := one.part.no_fingerprint)), None)
    cost = judgement.ratio if difference is not None and not difference else None
    work = Work(difference, _counters(base, head), unseen, cost=cost)
    return Compared(
        name,
        judgement,
        seconds(head),
        work.notes(),
        head[0].labels,
        work,
        redefined,
        memory=None if mismatch or redefined else MemoryChange.between(_peaks(base), _peaks(head)),
    )


def _peaks(side: list[Benchmark]) -> Peaks | None:
    return Peaks.all(Peaks.of(one.part.memory) for one in side)


def _redefined(base: list[Benchmark], head: list[Benchmark]) -> str | None:
    """Return how the definitions differ. The implementation behind a definition may differ."""
    if any(benchmark.fault for benchmark in base + head):
        return None  # unknown
    if change := _change(base, head, lambda one: one.part.graph_hash):
        return f"different graph: content hash {change}"
    change = _change(base, head, lambda one: one.part.definition_hash)
    return f"different definition of the benchmark: hash {change}" if change else None


def _measured_differently(base: list[Benchmark], head: list[Benchmark]) -> str | None:
    if reason := without_times(base + head):
        return reason
    change = _change(base, head, lambda one: one.estimand)
    return f"measured differently: {change}" if change else None


def without_times(benchmarks: Sequence[Benchmark]) -> str | None:
    """Return why one of the benchmarks has no times; None: all have."""
    return next((one.fault or NO_ROUNDS for one in benchmarks if not one.processes), None)


def _change(base: list[Benchmark], head: list[Benchmark], field: Callable[[Benchmark], str | None]) -> str:
    """Return both sides' values of a field, `a vs b`; an empty text if they are equal."""
    there, here = (list(dict.fromkeys(map(field, side))) for side in (base, head))
    if there == here:
        return ""
    return " vs ".join(" and ".join(value or "not saved" for value in side) for side in (there, here))


def contended_on(benchmarks: Sequence[Benchmark], side: str) -> str | None:
    """Return the reason if contention, or unknown contention, leaves no process of a side."""
    processes = [process for benchmark in benchmarks for process in benchmark.processes]
    if not processes or any(process.is_evidence for process in processes):
        return None
    if any(process.contended for process in processes):
        most = units.fraction(cpu.CONTENDED)
        return f"other programs used more than {most} of the CPU time while the {side} was timed"
    return f"CPU time of other programs was not recorded for the {side}: measure it again"


def _counters(base: list[Benchmark], head: list[Benchmark]) -> tuple[CounterChange, ...]:
    there, here = base[0].part.counters, head[0].part.counters
    if not there or not here:
        return ()
    return changed(there.counts, here.counts, [*there.unsteady, *here.unsteady])


def seconds(found: Sequence[Benchmark]) -> float | None:
    """Return a benchmark's time: the geometric mean of all processes; None: it was not measured."""
    logs = [process.log for benchmark in found for process in benchmark.processes]
    return math.exp(sum(logs) / len(logs)) / 1e9 if logs else None
