"""The tables at the end of a run: one row per benchmark, and notes."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..engine.ground import units
from ..engine.ground.labels import Limit
from ..engine.show.document import Column, Shown, Table
from ..engine.show.measured import TO_DO, half_width, remarks, times
from ..engine.show.names import grouped
from ..engine.store.parts import BenchmarkPart
from .operations import OPERATIONS
from .spec import Spec

_THREADS = re.compile(r"(.+)_(1|2|all)_threads?")
_WORKERS = re.compile(r"(.+?)(_first)?_(\d+)_workers")

_Texts = dict[tuple[str, ...], dict[str, list[str]]]
"""For a title and what its benchmarks run on: what is said of each platform."""
_COLUMNS = (
    *(Column(name, once=True) for name in ("operation", "dir")),
    Column("on"),
    Column("time", "time"),
    *(Column(name, "number") for name in ("±", "ratio")),
    Column("limit", "fraction"),
    Column("peak", "size"),
    *(Column(name, "count") for name in ("ops", "sync")),
)
_READING = (
    "f+b: forward and backward; ±: half-width of the 95% interval, ?: too few measurements for one; ratio: "
    "time / the best one's, ~: not separated (their intervals overlap, or one has none); limit: least "
    "possible time / time; peak: memory of a call; ops: its operators; sync: those that would wait for a GPU"
)


@dataclass(frozen=True)
class TableRow:
    """A row of the table."""

    spec: Spec
    seconds: float
    low: float | None
    """Lower end of the interval, in seconds; `high` is the upper one; None: too few blocks."""
    high: float | None
    limit: float | None
    """Roofline bound / measured time; None: no model for the operation."""
    peak_bytes: int | None
    """None: nondeterministic."""
    operators: int | None
    """None: not counted."""
    host_reads: int | None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, spec: Spec, part: BenchmarkPart) -> "TableRow":
        """Make a row from gnnbench's part of a benchmark that was measured."""
        assert part.measurement
        counters = part.counters
        return cls(
            spec,
            *times(part.measurement),
            part.limit.fraction if part.limit else None,
            counters.memory.get("peak_bytes") if counters else None,
            counters.operators if counters else None,
            counters.host_reads if counters else None,
            (*remarks(part.measurement), *_over(part.limit), *_compiled(part)),
        )

    @property
    def interval(self) -> Shown:
        """The half-width, as in `1.2%`; `?`: too few blocks for both bounds."""
        return half_width(self.seconds, self.low, self.high)

    def ratio(self, fastest: "TableRow") -> str:
        """Write the ratio of its time to another's; `~`: the intervals overlap, or one is not known."""
        is_above = self.low is not None and fastest.high is not None and self.low > fastest.high
        return f"{'' if is_above else '~'}{units.ratio(self.seconds / fastest.seconds)}"


def _over(limit: Limit | None) -> list[str]:
    return [f"above the roofline bound: {limit.note}"] if limit and limit.note else []


def _compiled(part: BenchmarkPart) -> list[str]:
    compilation = part.compilation or (part.counters and part.counters.counts.get("compilation"))
    if not compilation:
        return []
    graphs, again = (units.count(compilation[name], name[:-1]) for name in ("graphs", "recompilations"))
    breaks = sum(number for name, number in compilation.items() if name.startswith("graph break"))
    broken = f" and {units.count(breaks, 'graph break')}" if breaks else ""
    return [f"torch.compile made {graphs}, with {again}{broken}"]


def document(rows: Iterable[TableRow]) -> list[Table]:
    """Return a table for each heading; the fastest platform of an operation is bold."""
    groups: dict[str, dict[tuple[str, str], list[TableRow]]] = {}
    for row in rows:
        labels = row.spec.labels
        key = (labels.operation, labels.direction)
        groups.setdefault(labels.heading, {}).setdefault(key, []).append(row)
    return [
        Table(title, _COLUMNS, [cells for key, ones in found.items() for cells in _cells(key, ones)])
        for title, found in groups.items()
    ]


def _cells(names: tuple[str, str], rows: Sequence[TableRow]) -> Iterator[tuple[object, ...]]:
    """Yield the cells of each platform of an operation."""
    fastest = min(rows, key=lambda row: row.seconds)
    for row in rows:
        style = "fastest" if len(rows) > 1 and row is fastest else ""
        time = Shown(units.seconds(row.seconds), row.seconds, style)
        ratio = "best" if row is fastest else row.ratio(fastest)
        counts = row.limit, row.peak_bytes, row.operators, row.host_reads
        yield *names, row.spec.platform, time, row.interval, ratio if len(rows) > 1 else None, *counts


def reading(rows: Sequence[TableRow], arguments: Sequence[str] = ()) -> list[str]:
    """Return how to read rows of several platforms, how to confirm them, and what does similar work."""
    work = [replace(row.spec, platform="") for row in rows]
    if len(set(work)) == len(work):
        return _similar(rows)
    confirm = (
        f"for ratios with an interval: for i in 1 2 3 4 5; do {shlex.join(['pytest', *arguments])} "
        "--benchmark-json=run-$i.json; done; gnnbench compare --by platform run-*.json"
    )
    return [_READING, confirm, *_similar(rows)]


def _similar(rows: Sequence[TableRow]) -> list[str]:
    """Name the operations that stand for others on a platform that lacks these."""
    platforms: dict[str, list[str]] = {}
    for row in rows:
        platforms.setdefault(row.spec.operation, []).append(row.spec.platform)
    order = list(platforms)
    found: dict[str, list[str]] = {}
    for name in order:
        for platform, why in OPERATIONS[name].absent.items() if name in OPERATIONS else ():
            for other in re.findall(r"\w+", why.partition("see ")[2]):
                if platform in platforms.get(other, ()):
                    first, second = sorted((name, other), key=order.index)
                    found.setdefault(first, []).append(second)
    texts = [f"{first} and {', '.join(dict.fromkeys(others))}" for first, others in found.items()]
    return [f"similar, not the same work, so no ratio between them: {'; '.join(texts)}"] if texts else []


def notes(rows: Sequence[TableRow], hint: str | None = "") -> list[str]:
    """Return each note once, with the names or the number of its benchmarks; what one can do comes first."""
    remarks = ((f"{row.spec.labels.subject} {row.spec.platform}", row.notes) for row in rows)
    return sorted(grouped(remarks, len(rows), hint), key=lambda line: not line.startswith(TO_DO))


def scaling(rows: Sequence[TableRow], session_threads: int) -> list[str]:
    """Return lines on operations with more threads than one, on batches a second, and on first batches.

    The end of an operation's name says how many threads or workers it has; `_all_threads` are
    `session_threads`.
    """
    return [*_written(_speed_ups(rows, session_threads)), *_written(_throughputs(rows))]


def _written(found: _Texts) -> list[str]:
    several = len({key[1:] for key in found}) > 1
    written = []
    for (title, *where), platforms in found.items():
        texts = [f"{platform} {', '.join(each)}" for platform, each in platforms.items() if each]
        if texts:
            suffix = f" ({', '.join(where)})" if several else ""
            written.append(f"{title}{suffix}: {'; '.join(texts)}")
    return written


def _speed_ups(rows: Sequence[TableRow], session_threads: int) -> _Texts:
    """Divide the time with one thread by that with more."""
    seconds: dict[Spec, dict[str, float]] = {}
    names = {row.spec.operation for row in rows}
    for row in rows:
        name = row.spec.operation
        if named := _THREADS.fullmatch(f"{name}_all_threads" if f"{name}_1_thread" in names else name):
            operation, threads = named.groups()
            seconds.setdefault(replace(row.spec, operation=operation), {})[threads] = row.seconds
    found: _Texts = {}
    for spec, known in seconds.items():
        title = f"speed-up over 1 thread, {spec.labels.subject}"
        texts = found.setdefault((title, *spec.labels.inputs.values()), {}).setdefault(spec.platform, [])
        for threads, said in {"2": "with 2", "all": f"with all {session_threads}"}.items():
            if {"1", threads} <= known.keys():
                texts.append(f"{units.ratio(known['1'] / known[threads], 'slower')} {said}")
    return found


def _throughputs(rows: Sequence[TableRow]) -> _Texts:
    """Say how many batches a second loaders make, and when the first one is there."""
    found: _Texts = {}
    for row in rows:
        operation, name = OPERATIONS.get(row.spec.operation), _WORKERS.fullmatch(row.spec.operation)
        if operation and operation.batches and name:
            loader, first, workers = name.groups()
            what = "time to the first batch" if first else "batches a second"
            value = units.seconds(row.seconds) if first else f"{operation.batches / row.seconds:.3g}"
            texts = found.setdefault((f"{what}, {loader}", *row.spec.labels.inputs.values()), {})
            texts.setdefault(row.spec.platform, []).append(f"{value} with {workers} workers")
    return found
