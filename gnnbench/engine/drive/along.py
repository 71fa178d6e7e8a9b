"""Compare the benchmarks of one run along an axis: PyG with DGL, say, in the same processes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..ground import environment
from ..judge.paired_ratios import PairedRatios
from ..judge.verdict import Judgement, Thresholds
from ..store.benchmark import Benchmark
from ..store.run_file import RunFile
from .axis import Axis, Pair, pair
from .runs import check_alike, contended_on, seconds, timings, without_times

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Row:
    """A pair of benchmarks; the head is the one that does not have the base value."""

    pair: Pair
    judgement: Judgement
    seconds: float | None
    """Of the head; None: not measured."""
    base_seconds: float | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mean:
    """The geometric mean of the ratios of one value, over the benchmarks that both values have."""

    value: str
    judgement: Judgement
    benchmarks: int


@dataclass(frozen=True)
class Along:
    """The benchmarks of a run along an axis."""

    field: str
    base: str
    files: tuple[str, ...]
    thresholds: Thresholds
    rows: tuple[Row, ...]
    means: tuple[Mean, ...]
    """One for each value with a ratio, in the order of the run."""
    processes: int
    """The most that timed both benchmarks of a pair."""
    alone: int
    """As in `axis.Paired`, like `ambiguous`."""
    ambiguous: int
    version: int = FORMAT_VERSION


def compare(runs: Sequence[RunFile], axis: Axis, thresholds: Thresholds) -> Along:
    """Judge benchmarks of one run that differ in one field only.

    The simultaneous intervals hold for all rows together; each mean has an interval of its own.
    """
    fields = (*environment.WHERE, *environment.WHAT, "commit")
    check_alike(runs, fields, "not a process of the run of", "give the files of one run")
    names = list(dict.fromkeys(name for run in runs for name in run.benchmarks))
    by_name = {name: [run.benchmarks[name] for run in runs if name in run.benchmarks] for name in names}
    paired = pair([row[0] for row in by_name.values()], axis)
    pairs, axis = paired.pairs, replace(axis, base=paired.base)
    column = {name: number for number, name in enumerate(names)}
    sides = [column[row.base] for row in pairs], [column[row.fullname] for row in pairs]
    ratios = PairedRatios.of(timings(runs, names), *sides)
    rated: dict[str, list[int]] = {}
    for place, row in enumerate(pairs):
        if ratios.counts[place]:
            rated.setdefault(row.value, []).append(place)
    family = int(np.isfinite(ratios.errors).sum())
    rows = tuple(
        _row(row, ratios.judge(place, thresholds, family), axis, by_name[row.fullname], by_name[row.base])
        for place, row in enumerate(pairs)
    )
    means = tuple(
        Mean(value, ratios.judge_mean(places, thresholds), len(places)) for value, places in rated.items()
    )
    processes = int(ratios.counts.max(initial=0))
    files = tuple(str(run.path) for run in runs)
    counts = processes, paired.alone, paired.ambiguous
    return Along(axis.field, paired.base, files, thresholds, rows, means, *counts)


def _row(pair: Pair, judgement: Judgement, axis: Axis, head: list[Benchmark], base: list[Benchmark]) -> Row:
    if not judgement.head_processes:
        judgement = replace(judgement, reason=_untimed(pair, axis, head, base) or judgement.reason)
    ways = base[0].estimand, head[0].estimand
    notes = (f"measured differently: {' vs '.join(ways)}",) if ways[0] != ways[1] else ()
    return Row(pair, judgement, seconds(head), seconds(base), notes)


def _untimed(pair: Pair, axis: Axis, head: list[Benchmark], base: list[Benchmark]) -> str | None:
    """Return why one of two benchmarks has no time that counts; None: both have one."""
    for benchmarks, value in ((head, pair.value), (base, axis.base)):
        if not any(benchmark.processes for benchmark in benchmarks):
            return without_times(benchmarks)
        if reason := contended_on(benchmarks, f"benchmark with {axis.field} {value}"):
            return reason
    return None
