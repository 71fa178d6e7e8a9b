"""The tables at the end of a run: one row per benchmark, and notes."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rich.markup import escape
from rich.table import Table

from .. import units
from ..cpu import CONTENDED
from ..measure.measurement import Measurement
from ..results.parts import BenchmarkPart
from ..workloads.least_work import Limit
from ..workloads.operations import OPERATIONS
from ..workloads.spec import BACKWARD, FORWARD, FORWARD_BACKWARD, STEP, TRAIN, Spec

SHORT_DIRECTION = {FORWARD: "fwd", FORWARD_BACKWARD: "f+b", BACKWARD: "bwd", STEP: "step", TRAIN: "train"}

NO_INTERVAL = "no interval ('?'), too few measurements: raise --benchmark-max-time"
_DISTURBED = f"other programs used more than {CONTENDED:.0%} of the CPU time: stop them and run again"
_CLOCK_SET = "measurements without a positive time were left out, as if the clock was set: run again"
_TO_DO = (_DISTURBED, NO_INTERVAL, _CLOCK_SET)
"""Notes about which a reader can do something; they come first."""
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

_NAMED = 4
"""A note names at most this many benchmarks; otherwise it has their number."""


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

    def is_above(self, other: "TableRow") -> bool:
        """Return whether both intervals are known, and this one lies above the other."""
        return self.low is not None and other.high is not None and self.low > other.high


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


def inputs(spec: Spec) -> tuple[str, ...]:
    """Return a spec's graph, width, types and device."""
    return spec.dataset, f"hidden {spec.hidden}", spec.dtype, spec.index_dtype, spec.device


def heading(spec: Spec) -> str:
    """Return the heading of a spec's table."""
    return " · ".join(inputs(spec))


def tables(rows: Iterable[TableRow]) -> dict[str, Table]:
    """Return a table for each heading; the fastest platform of an operation is bold."""
    groups: dict[str, dict[tuple[str, str], list[TableRow]]] = {}
    for row in rows:
        key = (row.spec.operation, row.spec.direction)
        groups.setdefault(heading(row.spec), {}).setdefault(key, []).append(row)
    return {title: _table(list(operations.values())) for title, operations in groups.items()}


def _table(operations: Sequence[Sequence[TableRow]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("operation", "dir", "on"):
        table.add_column(name, no_wrap=True)
    for name in ("time", "±", "ratio", "limit", "peak", "ops", "sync"):
        table.add_column(name, justify="right", no_wrap=True)
    for rows in operations:
        fastest = min(rows, key=lambda row: row.seconds)
        for row in rows:
            time = units.seconds(row.seconds)
            table.add_row(
                escape(row.spec.operation) if row is rows[0] else "",
                SHORT_DIRECTION[row.spec.direction] if row is rows[0] else "",
                row.spec.platform,
                f"[bold]{time}[/bold]" if len(rows) > 1 and row is fastest else time,
                row.interval,
                _ratio(row, fastest) if len(rows) > 1 else "",
                "" if row.limit is None else units.fraction(row.limit),
                "" if row.peak_bytes is None else units.size(row.peak_bytes),
                "" if row.operators is None else str(row.operators),
                "" if row.host_reads is None else str(row.host_reads),
            )
    return table


def _ratio(row: TableRow, fastest: TableRow) -> str:
    if row is fastest:
        return "best"
    return f"{'' if row.is_above(fastest) else '~'}{units.ratio(row.seconds / fastest.seconds)}"


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


def grouped(remarks: Iterable[tuple[str, Sequence[str]]], benchmarks: int | None = None) -> list[str]:
    """Return each remark once, with the names or the number of its benchmarks.

    Args:
        remarks: name and remarks of each benchmark.
        benchmarks: their number; remarks on all of them have "all benchmarks" instead of names.
    """
    found: dict[str, list[str]] = {}
    for name, notes in remarks:
        for note in notes:
            found.setdefault(note, []).append(name)
    return [f"{note}: {_subjects(names, benchmarks)}" for note, names in found.items()]


def _subjects(names: Sequence[str], benchmarks: int | None) -> str:
    if len(names) == benchmarks and benchmarks > 1:
        return "all benchmarks"
    return ", ".join(dict.fromkeys(names)) if len(names) <= _NAMED else units.count(len(names), "benchmark")


def shared_place(names: Sequence[str]) -> str:
    """Return the folder, file or class that all names begin with; something of each name is left."""
    common = os.path.commonprefix([name[:-1] for name in names])  # noqa: RUF071 - "::" separates too
    common = common.partition("[")[0]  # parameters may hold anything
    return common[: max(common.rfind("/") + 1, common.rfind("::") + 2 if "::" in common else 0)]
