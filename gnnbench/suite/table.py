"""The tables at the end of a run: one row per benchmark, and notes."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..engine.ground import units
from ..engine.show import measured
from ..engine.show.document import Column, Shown, Table
from ..engine.show.lines import Note
from ..engine.show.measured import half_width, remarks, times
from ..engine.store.parts import BenchmarkPart
from .spec import Spec

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
    "f+b: forward and backward; ±: half-width of the 95% interval, ?: too few measurements; ratio: time / "
    "time of the best platform, ~: the intervals overlap, or one is unknown; limit: least possible time / "
    "time; peak: memory of a call; ops: operators of a call; sync: operators that would wait for a GPU"
)


@dataclass(frozen=True)
class TableRow:
    """A row of the table: the time and its interval in seconds, the roofline limit, and counts.

    The interval is None if there are too few measurements. `limit`, the roofline bound divided by the time,
    is None if the operation's least work is unknown. A count is None if it varies.
    """

    spec: Spec
    seconds: float
    low: float | None
    high: float | None
    limit: float | None
    peak_bytes: int | None
    operators: int | None
    host_reads: int | None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, spec: Spec, part: BenchmarkPart) -> "TableRow":
        """Make a row from gnnbench's data on a measured benchmark."""
        assert part.measurement
        counters = part.counters
        return cls(
            spec,
            *times(part.measurement),
            part.limit.fraction if part.limit else None,
            counters.memory.get("peak_bytes") if counters else None,
            counters.operators if counters else None,
            counters.host_reads if counters else None,
            (*remarks(part.measurement), *_notes(part)),
        )

    @property
    def interval(self) -> Shown:
        """The half-width, as in `1.2%`; `?` if the interval is unknown."""
        return half_width(self.seconds, self.low, self.high)

    def ratio(self, fastest: "TableRow") -> str:
        """Return the ratio of the times of two rows, with `~` if intervals overlap or one is unknown."""
        is_above = self.low is not None and fastest.high is not None and self.low > fastest.high
        return f"{'' if is_above else '~'}{units.ratio(self.seconds / fastest.seconds)}"


def _notes(part: BenchmarkPart) -> Iterator[str]:
    if part.limit and part.limit.note:
        yield f"above the roofline bound: {part.limit.note}"
    compilation = part.compilation or (part.counters and part.counters.counts.get("compilation"))
    if not compilation:
        return
    graphs, repeats = (units.count(compilation[name], name[:-1]) for name in ("graphs", "recompilations"))
    breaks = sum(number for name, number in compilation.items() if name.startswith("graph break"))
    suffix = f" and {units.count(breaks, 'graph break')}" if breaks else ""
    yield f"torch.compile made {graphs}, with {repeats}{suffix}"


def document(rows: Iterable[TableRow]) -> list[Table]:
    """Return a table for each heading; the fastest platform of an operation is bold."""
    groups: dict[str, dict[tuple[str, str], list[TableRow]]] = {}
    for row in rows:
        labels = row.spec.labels
        key = (labels.operation, labels.direction)
        groups.setdefault(labels.heading, {}).setdefault(key, []).append(row)
    return [
        Table(title, _COLUMNS, [cells for key, group in rows_by_key.items() for cells in _cells(key, group)])
        for title, rows_by_key in groups.items()
    ]


def _cells(names: tuple[str, str], rows: Sequence[TableRow]) -> Iterator[tuple[object, ...]]:
    """Yield each row's cells. The rows show one operation on several platforms."""
    fastest = min(rows, key=lambda row: row.seconds)
    for row in rows:
        style = "fastest" if len(rows) > 1 and row is fastest else ""
        time = Shown(units.seconds(row.seconds), row.seconds, style)
        ratio = "best" if row is fastest else row.ratio(fastest)
        counts = row.limit, row.peak_bytes, row.operators, row.host_reads
        yield *names, row.spec.platform, time, row.interval, ratio if len(rows) > 1 else None, *counts


def reading(rows: Sequence[TableRow], arguments: Sequence[str] = ()) -> list[Note]:
    """Return notes on reading and confirming ratios. Empty if no rows differ only in the platform."""
    specs = [replace(row.spec, platform="") for row in rows]
    if len(set(specs)) == len(specs):
        return []
    confirm = (
        f"for i in 1 2 3 4 5; do {shlex.join(['pytest', *arguments])} "
        "--benchmark-json=run-$i.json; done; gnnbench compare --by platform run-*.json"
    )
    return [Note(_READING), Note("for ratios with an interval", confirm)]


def notes(rows: Sequence[TableRow], verbosity: int = 0) -> list[str]:
    pairs = ((f"{row.spec.labels.subject} {row.spec.platform}", row.notes) for row in rows)
    return measured.notes(pairs, len(rows), verbosity)
