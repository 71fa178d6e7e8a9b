"""What a change affects, as text: `gnnbench affected`."""

from ..drive.affected import AffectedResult
from ..ground import units
from ..judge.visit import Inspections
from .document import Column, Document, tables
from .lines import Note
from .names import brief, grouped, labels_in, short
from .verdicts import named
from .wording import memory_notes, result_notes


def document(result: AffectedResult, *, verbose: bool = True) -> Document:
    """Return a table of the affected benchmarks for each heading, and notes, first those on outputs."""
    benchmarks = {name: row for name, row in result.benchmarks.items() if row.status != "same"}
    labels = labels_in(benchmarks)
    names = short(labels)
    remarks = grouped((names[name], _remarks(row)) for name, row in benchmarks.items())
    notes = brief([*remarks, *result.notes], verbose=verbose)
    columns = (Column("changed", "text", _changed), *named("memory", "outputs"))
    return [*tables(labels, columns, benchmarks), *map(Note, ["", *notes] if benchmarks else notes)]


def _remarks(row: Inspections) -> list[str]:
    if row.results and row.results.is_other:
        return [f"a different output: {row.results.reason}", *memory_notes(row.memory)]
    return [*result_notes(row.results), *memory_notes(row.memory)]


def _changed(row: Inspections) -> str:
    if row.work.changed:
        return row.work.changed.sentence()
    return f"{row.work.cost_sentence}: time it" if row.work.cost else f"not compared: {row.unknown}"


def summary(result: AffectedResult) -> str:
    """Count: `12 of 43 benchmarks run changed code, 31 run the same code`."""
    changed, same, unknown = (len(result.named(status)) for status in ("changed", "same", "unknown"))
    of = units.count(len(result.benchmarks), "benchmark")
    text = f"{changed} of {of} {_run(changed)} changed code, {same} {_run(same)} the same code"
    if unknown:
        text += f", {unknown} could not be compared and count{'s' if unknown == 1 else ''} as affected"
    if costly := sum(row.work.cost is not None for row in result.benchmarks.values()):
        text += f"; {costly} of the changed run the same code at another cost"
    others = sum(row.results is not None and row.results.is_other for row in result.benchmarks.values())
    return f"{text}; {units.count(others, 'different output')}" if others else text


def _run(count: int) -> str:
    return "runs" if count == 1 else "run"
