"""The tables at the end of a run: one row per benchmark, and notes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from .. import units
from ..cpu import CONTENDED
from ..measure.measurement import Measurement
from ..results.parts import BenchmarkPart
from ..workloads.least_work import Limit
from ..workloads.operations import OPERATIONS
from ..workloads.spec import Spec
from .document import Column, Shown, Table
from .names import SHORT_DIRECTION, grouped, heading

NO_INTERVAL = "no interval ('?'), too few measurements: raise --benchmark-max-time"
_DISTURBED = f"other programs used more than {CONTENDED:.0%} of the CPU time: stop them and run again"
_CLOCK_SET = "measurements without a positive time were left out, as if the clock was set: run again"
_TO_DO = (_DISTURBED, NO_INTERVAL, _CLOCK_SET)
"""Notes about which a reader can do something; they come first."""
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
    (
        "±: half-width of the 95% interval; ratio: time / the fastest platform's, ~: not separated, their "
        "intervals overlap; limit: least possible time / time"
    ),
    (
        "for ratios with an interval run pytest five times with --benchmark-json=run-N.json, then: "
        "gnnbench compare --by platform run-*.json"
    ),
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
    def interval(self) -> str:
        """The half-width, as in `1.2%`; `?`: too few blocks for both bounds."""
        return half_width(self.seconds, self.low, self.high)

    def ratio(self, fastest: "TableRow") -> str:
        """Write the ratio of its time to another's; `~`: the intervals overlap, or one is not known."""
        is_above = self.low is not None and fastest.high is not None and self.low > fastest.high
        return f"{'' if is_above else '~'}{units.ratio(self.seconds / fastest.seconds)}"


def times(measured: Measurement) -> tuple[float, float | None, float | None]:
    """Return the estimate and the bounds of its interval, in seconds, of a measurement with blocks."""
    assert measured.location_ns
    low, high = (ns and ns / 1e9 for ns in (measured.low_ns, measured.high_ns))
    return measured.location_ns / 1e9, low, high


def half_width(middle: float, low: float | None, high: float | None) -> str:
    """Write the larger half-width of an interval as a fraction of the estimate; `?`: a bound is missing."""
    if low is None or high is None:
        return "?"
    return units.fraction(max(high - middle, middle - low) / middle)


def remarks(measured: Measurement) -> list[str]:
    """Return the notes on a measurement."""
    whole = measured.whole_call
    found = {
        _DISTURBED: (measured.contention_share or 0) > CONTENDED,
        NO_INTERVAL: None in (measured.low_ns, measured.high_ns),
        _CLOCK_SET: measured.rejected_rounds,
        f"only timed, so ops, peak and sync are empty: {whole}": whole,
        f"timed in one place of memory, others may differ: {measured.in_place}": (
            measured.in_place and not whole
        ),
        "changes its inputs, so each call sees other values": measured.changes_inputs,
    }
    not_copied = [f"inputs of this type stay in one place of memory: {name}" for name in measured.not_copied]
    return [*not_copied, *(remark for remark, holds in found.items() if holds)]


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
        key = (row.spec.operation, SHORT_DIRECTION[row.spec.direction])
        groups.setdefault(heading(row.spec), {}).setdefault(key, []).append(row)
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


def reading(rows: Sequence[TableRow]) -> list[str]:
    """Return how to read rows of several platforms, how to confirm them, and what does similar work."""
    work = [replace(row.spec, platform="") for row in rows]
    return [*(_READING if len(set(work)) < len(work) else ()), *_similar(rows)]


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
    return [f"similar work, but not the same, so without a ratio: {'; '.join(texts)}"] if texts else []


def notes(rows: Sequence[TableRow]) -> list[str]:
    """Return each note once, with the names or the number of its benchmarks; what one can do comes first."""
    remarks = (
        (f"{row.spec.operation} {SHORT_DIRECTION[row.spec.direction]} {row.spec.platform}", row.notes)
        for row in rows
    )
    return sorted(grouped(remarks, len(rows)), key=lambda line: not line.startswith(_TO_DO))
