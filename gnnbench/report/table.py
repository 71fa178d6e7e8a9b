"""The tables at the end of a run: one row per benchmark, and notes."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.markup import escape
from rich.table import Table

from .. import units
from ..cpu import CONTENDED
from ..workloads.spec import BACKWARD, FORWARD, FORWARD_BACKWARD, STEP, TRAIN, Spec

SHORT_DIRECTION = {FORWARD: "fwd", FORWARD_BACKWARD: "f+b", BACKWARD: "bwd", STEP: "step", TRAIN: "train"}

NO_INTERVAL = "no interval ('?'): too few blocks; raise --benchmark-max-time"

_NAMED = 4
"""A note names at most this many benchmarks; otherwise it has their number."""


@dataclass(frozen=True)
class TableRow:
    """A row of the table."""

    spec: Spec
    seconds: float
    interval: str
    """Half-width, as in `1.2%`; `?`: too few blocks for both bounds."""
    stopped_by: str
    limit: float | None
    """Roofline bound / measured time; None: no model for the operation."""
    peak_bytes: int | None
    """None: nondeterministic."""
    operators: int | None
    """None: not counted."""
    host_reads: int | None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, spec: Spec, ours: dict[str, Any]) -> "TableRow":
        """Make a row from gnnbench's part of a benchmark's record."""
        measured = ours["measurement"]
        limit, counters = ours.get("limit"), ours.get("counters")
        return cls(
            spec,
            measured["location_ns"] / 1e9,
            interval(measured),
            measured["stopped_by"],
            limit and limit["fraction"],
            counters and counters["details"]["memory"].get("peak_bytes"),
            counters and sum(counters["counts"]["operators"].values()),
            counters and counters["host_reads"],
            (*remarks(measured), *_over(limit), *_compiled(ours)),
        )


def interval(measured: dict[str, Any]) -> str:
    """Return `TableRow.interval`: the larger half-width as a fraction of the estimate."""
    middle, low, high = measured["location_ns"], measured["low_ns"], measured["high_ns"]
    if low is None or high is None:
        return "?"
    return units.fraction(max(high - middle, middle - low) / middle)


def remarks(measured: dict[str, Any]) -> list[str]:
    """Return the notes on a measurement."""
    contended = (measured["others_share"] or 0) > CONTENDED
    few = measured["low_ns"] is None or measured["high_ns"] is None
    whole = measured.get("whole_call")
    found = {
        f"whole calls timed by the wall clock, none counted, no fingerprint: {whole}": whole,
        f"inputs not copied to new memory, {measured['in_place']}": measured["in_place"] and not whole,
        "writes to its inputs, so rounds have different inputs": measured["changes_inputs"],
        "rounds without a positive time were excluded": measured["rejected_rounds"],
        f"other programs used more than {CONTENDED:.0%} of the CPU time": contended,
        NO_INTERVAL: few,
    }
    not_copied = [f"inputs not copied between blocks: {name}" for name in measured["not_copied"]]
    return [*not_copied, *(remark for remark, holds in found.items() if holds)]


def _over(limit: dict[str, Any] | None) -> list[str]:
    return [f"above the roofline bound: {limit['note']}"] if limit and limit["note"] else []


def _compiled(ours: dict[str, Any]) -> list[str]:
    counters = ours.get("counters") or {"counts": {}}
    compilation = ours.get("compilation") or counters["counts"].get("compilation")
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
    for name in ("time", "±", "stop", "limit", "peak", "ops", "sync"):
        table.add_column(name, justify="right", no_wrap=True)
    for rows in operations:
        fastest = min(row.seconds for row in rows)
        for row in rows:
            time = units.seconds(row.seconds)
            table.add_row(
                escape(row.spec.operation) if row is rows[0] else "",
                SHORT_DIRECTION[row.spec.direction] if row is rows[0] else "",
                row.spec.platform,
                f"[bold]{time}[/bold]" if len(rows) > 1 and row.seconds == fastest else time,
                row.interval,
                row.stopped_by[:4],
                "" if row.limit is None else units.fraction(row.limit),
                "" if row.peak_bytes is None else units.size(row.peak_bytes),
                "" if row.operators is None else str(row.operators),
                "" if row.host_reads is None else str(row.host_reads),
            )
    return table


def notes(rows: Sequence[TableRow]) -> list[str]:
    """Return each note once, with the names or the number of its benchmarks."""
    remarks = (
        (f"{row.spec.operation} {SHORT_DIRECTION[row.spec.direction]} {row.spec.platform}", row.notes)
        for row in rows
    )
    return grouped(remarks, len(rows))


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
