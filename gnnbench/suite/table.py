"""The tables at the end of a run: one row per benchmark, and notes."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..engine.ground import units
from ..engine.show import measured
from ..engine.show.document import Column, Shown, Table
from ..engine.show.lines import Note
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


Row = tuple[Spec, BenchmarkPart]
"""A row of the table: a benchmark, and gnnbench's data on it, with a measurement."""


def _times(row: Row) -> tuple[float, float | None, float | None]:
    _, part = row
    assert part.measurement
    return measured.times(part.measurement)


def interval(row: Row) -> Shown:
    """Return the half-width of the time's interval, as in `1.2%`; `?` if the interval is unknown."""
    return measured.half_width(*_times(row))


def _notes(part: BenchmarkPart) -> Iterator[str]:
    assert part.measurement
    yield from measured.remarks(part.measurement)
    if part.limit and part.limit.note:
        yield f"above the roofline bound: {part.limit.note}"
    compilation = part.compilation or (part.counters and part.counters.counts.get("compilation"))
    if not compilation:
        return
    graphs, repeats = (units.count(compilation[name], name[:-1]) for name in ("graphs", "recompilations"))
    breaks = sum(number for name, number in compilation.items() if name.startswith("graph break"))
    suffix = f" and {units.count(breaks, 'graph break')}" if breaks else ""
    yield f"torch.compile made {graphs}, with {repeats}{suffix}"


def document(rows: Iterable[Row]) -> list[Table]:
    """Return a table for each heading; the fastest platform of an operation is bold."""
    groups: dict[str, dict[tuple[str, str], list[Row]]] = {}
    for row in rows:
        labels = row[0].labels
        key = (labels.operation, labels.direction)
        groups.setdefault(labels.heading, {}).setdefault(key, []).append(row)
    return [
        Table(title, _COLUMNS, [cells for key, group in rows_by_key.items() for cells in _cells(key, group)])
        for title, rows_by_key in groups.items()
    ]


def _cells(names: tuple[str, str], rows: Sequence[Row]) -> Iterator[tuple[object, ...]]:
    """Yield each row's cells. The rows show one operation on several platforms."""
    fastest = min(rows, key=lambda row: _times(row)[0])
    least, _, bound = _times(fastest)
    for row in rows:
        spec, part = row
        seconds, low, _ = _times(row)
        counters = part.counters
        is_slower = low is not None and bound is not None and low > bound
        ratio = "best" if row is fastest else f"{'' if is_slower else '~'}{units.ratio(seconds / least)}"
        yield (
            *names,
            spec.platform,
            Shown(units.seconds(seconds), seconds, "fastest" if len(rows) > 1 and row is fastest else ""),
            interval(row),
            ratio if len(rows) > 1 else None,
            part.limit.fraction if part.limit else None,
            counters.memory.get("peak_bytes") if counters else None,
            counters.operators if counters else None,
            counters.host_reads if counters else None,
        )


def reading(rows: Sequence[Row], arguments: Sequence[str] = ()) -> list[Note]:
    """Return notes on reading and confirming ratios. Empty if no rows differ only in the platform."""
    specs = [replace(spec, platform="") for spec, _ in rows]
    if len(set(specs)) == len(specs):
        return []
    confirm = (
        f"for i in 1 2 3 4 5; do {shlex.join(['pytest', *arguments])} "
        "--benchmark-json=run-$i.json; done; gnnbench compare --by platform run-*.json"
    )
    return [Note(_READING), Note("for ratios with an interval", confirm)]


def notes(rows: Sequence[Row], verbosity: int = 0) -> list[str]:
    pairs = ((f"{spec.labels.subject} {spec.platform}", [*_notes(part)]) for spec, part in rows)
    return measured.notes(pairs, len(rows), verbosity)
