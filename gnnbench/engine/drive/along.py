"""Compares benchmarks of one run that differ in one field only, such as the same operation on PyG and on DGL.

This field is the axis; one of its values is the base. All other values are compared with the base value.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from ..ground import environment
from ..ground.codec import UNSAVED
from ..ground.errors import UsageError, unknown_name
from ..ground.labels import Labels
from ..judge.paired_ratios import PairedRatios
from ..judge.verdict import Judgement, Thresholds, check_mean
from ..store.run_file import Benchmark, RunFile
from .runs import check_alike, contended_on, seconds, timings, without_times

FORMAT_VERSION = 1
THREADS = "threads"
"""The field for the number of CPU threads. It is no label, but the end of an operation's name."""
_THREADS = re.compile(r"(?P<operation>.+)_(?P<threads>1|2|all)_threads?")
_GRAPH = "graph"
"""The pytest parameter that names the data set."""


@dataclass(frozen=True)
class Axis:
    """The field in which benchmarks differ, and its base value."""

    field: str
    base: str | None = None
    """The base value. None selects the first value in the order of the run."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `FIELD` or `FIELD=VALUE`."""
        field, equals, base = text.partition("=")
        if not field or (equals and not base):
            raise UsageError(f"--by '{text}' must be a field, or a field and its base, as in platform=pyg")
        return cls(field.replace("-", "_"), base or None)


@dataclass(frozen=True)
class Pair:
    """Two benchmarks that differ in the axis only: one with the base value, and one with another value."""

    fullname: str
    """Fullname of the benchmark with the other value."""
    base: str
    """Fullname of the benchmark with the base value."""
    value: str
    """The other value."""
    function: str
    """The test function of both benchmarks, with its file. Empty if the benchmarks have labels."""
    fields: Mapping[str, str]
    """The other fields and their values, which both benchmarks share."""
    labels: Labels | None = field(metadata=UNSAVED)
    """The labels of the benchmark `fullname`."""


@dataclass(frozen=True)
class Paired:
    """The pairs of a run."""

    base: str
    """The base value."""
    pairs: tuple[Pair, ...]
    """Pairs with the same fields are neighbours."""
    alone: int
    """Number of benchmarks that have the field, but no partner."""
    ambiguous: int
    """Number of benchmarks that are left out because another benchmark has the same value in every field."""


@dataclass(frozen=True)
class Row:
    """A pair of benchmarks, with the verdict on its ratio."""

    pair: Pair
    judgement: Judgement
    seconds: float | None
    """Time of the benchmark with the other value. None if not measured."""
    base_seconds: float | None
    """Time of the benchmark with the base value."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mean:
    """The geometric mean of the ratios of all pairs that have the same value."""

    value: str
    judgement: Judgement
    benchmarks: int
    """Number of pairs."""


@dataclass(frozen=True)
class Along:
    """The benchmarks of a run along an axis."""

    field: str
    base: str
    files: tuple[str, ...]
    thresholds: Thresholds
    rows: tuple[Row, ...]
    means: tuple[Mean, ...]
    """A mean for each value with a ratio, in the order of the run."""
    processes: int
    """The largest number of processes that timed both benchmarks of a pair."""
    alone: int
    """`alone` and `ambiguous` are the numbers in `Paired`."""
    ambiguous: int
    version: int = FORMAT_VERSION


def compare(runs: Sequence[RunFile], axis: Axis, thresholds: Thresholds) -> Along:
    """Judge benchmarks of one run that differ in the field of an axis only. `runs`: a file for each process.

    The simultaneous intervals hold for all rows together; each mean has an interval of its own.
    """
    fields = (*environment.CONDITIONS, *environment.VERSIONS, "commit")
    check_alike(runs, fields, "not from the same run as", "give the files of one run")
    names = list(dict.fromkeys(name for run in runs for name in run.benchmarks))
    by_name = {name: [run.benchmarks[name] for run in runs if name in run.benchmarks] for name in names}
    paired = pair([row[0] for row in by_name.values()], axis)
    pairs, axis = paired.pairs, replace(axis, base=paired.base)
    column = {name: number for number, name in enumerate(names)}
    base, head = [column[row.base] for row in pairs], [column[row.fullname] for row in pairs]
    ratios, mean_ratios = (PairedRatios.of(times, base, head) for times in timings(runs, names))
    by_value: dict[str, list[int]] = {}
    for number, row in enumerate(pairs):
        if ratios.counts[number]:
            by_value.setdefault(row.value, []).append(number)
    family = int(np.isfinite(ratios.errors).sum())
    rows = []
    for number, row in enumerate(pairs):
        judgement, mean = (side.judge(number, thresholds, family) for side in (ratios, mean_ratios))
        judgement = check_mean(judgement, mean, thresholds)
        rows.append(_row(row, judgement, axis, by_name[row.fullname], by_name[row.base]))
    means = tuple(
        Mean(value, ratios.judge_mean(numbers, thresholds), len(numbers))
        for value, numbers in by_value.items()
    )
    processes = int(ratios.counts.max(initial=0))
    files = tuple(str(run.path) for run in runs)
    alone, ambiguous = paired.alone, paired.ambiguous
    return Along(axis.field, paired.base, files, thresholds, tuple(rows), means, processes, alone, ambiguous)


def _row(pair: Pair, judgement: Judgement, axis: Axis, head: list[Benchmark], base: list[Benchmark]) -> Row:
    if not judgement.head_processes:
        judgement = replace(judgement, reason=_untimed(pair, axis, head, base) or judgement.reason)
    estimands = base[0].estimand, head[0].estimand
    notes = (f"measured differently: {' vs '.join(estimands)}",) if estimands[0] != estimands[1] else ()
    return Row(pair, judgement, seconds(head), seconds(base), notes)


def _untimed(pair: Pair, axis: Axis, head: list[Benchmark], base: list[Benchmark]) -> str | None:
    """Return why one of two benchmarks has no undisturbed time. Returns None if both have one."""
    for benchmarks, value in ((head, pair.value), (base, axis.base)):
        if not any(benchmark.processes for benchmark in benchmarks):
            return without_times(benchmarks)
        if reason := contended_on(benchmarks, f"benchmark with {axis.field} {value}"):
            return reason
    return None


def pair(benchmarks: Iterable[Benchmark], axis: Axis) -> Paired:
    """Return the pairs of benchmarks that differ in the field of an axis only."""
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], dict[str, list[str]]] = {}
    names: set[str] = set()
    labels = {}
    for benchmark in benchmarks:
        labels[benchmark.fullname] = benchmark.labels
        function, fields = fields_of(benchmark, axis.field)
        names |= fields_of(benchmark, THREADS)[1].keys()
        if (value := fields.pop(axis.field, None)) is not None:
            group = groups.setdefault((function, tuple(fields.items())), {})
            group.setdefault(value, []).append(benchmark.fullname)
    if not names:
        raise UsageError("these benchmarks have no parameters to compare by")
    if not groups:
        raise unknown_name("field", axis.field, names)
    values = {value: None for group in groups.values() for value in group}
    base = next(iter(values)) if axis.base is None else axis.base
    if base not in values:
        raise unknown_name(axis.field, base, values)
    pairs, alone, ambiguous = [], 0, 0
    for (function, key), group in groups.items():
        single = {value: ids[0] for value, ids in group.items() if len(ids) == 1}
        ambiguous += sum(len(ids) for ids in group.values() if len(ids) > 1)
        other_values = [value for value in single if value != base] if base in single else []
        pairs += [
            Pair(single[value], single[base], value, function, dict(key), labels[single[value]])
            for value in other_values
        ]
        alone += 0 if other_values else len(single)
    return Paired(base, tuple(pairs), alone, ambiguous)


def fields_of(benchmark: Benchmark, axis: str = "") -> tuple[str, dict[str, str]]:
    """Return the test function and the fields of a benchmark. Together they identify the benchmark.

    The function is empty if the benchmark has labels. If `axis` is THREADS, the number of threads is split
    off the name of the operation, and becomes a field.
    """
    params = dict(benchmark.params)
    if benchmark.labels is None:
        return benchmark.fullname.partition("[")[0], params
    fields = dict(benchmark.labels.fields)
    fields |= {name: value for name, value in params.items() if name not in {*fields, _GRAPH}}
    match = _THREADS.fullmatch(fields["operation"]) if axis == THREADS else None
    return "", fields | (match.groupdict() if match else {})
