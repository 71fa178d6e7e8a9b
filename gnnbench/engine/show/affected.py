"""Shows the result of `gnnbench affected`: the benchmarks that run changed code."""

from ..drive.affected import AffectedResult
from ..ground import units
from ..judge.visit import Inspections
from .document import Column, Document, tables
from .lines import Note
from .names import abridge, labels_in, merge_notes, short
from .verdicts import columns_named
from .wording import memory_notes, result_notes, same_code


def document(result: AffectedResult, *, verbose: bool = True) -> Document:
    """Return tables of the affected benchmarks, then notes: first on benchmarks, then on the whole run."""
    affected = {name: row for name, row in result.benchmarks.items() if row.status != "same"}
    labels = labels_in(affected)
    names = short(labels)
    benchmark_notes = merge_notes((names[name], _notes_on(row)) for name, row in affected.items())
    notes = abridge([*benchmark_notes, *result.notes], verbose=verbose)
    columns = (Column("changed", "text", _changed), *columns_named("memory", "outputs"))
    return [*tables(labels, columns, affected), *map(Note, ["", *notes] if affected else notes)]


def _notes_on(row: Inspections) -> list[str]:
    """Return the notes on a benchmark's output and memory."""
    if row.results and row.results.is_different:
        return [f"a different output: {row.results.reason}", *memory_notes(row.memory)]
    return [*result_notes(row.results), *memory_notes(row.memory)]


def _changed(row: Inspections) -> str:
    """Return which functions changed, or how the cost of a call changed, or why code was not compared."""
    if row.work.changed:
        return row.work.changed.sentence()
    return f"{row.work.cost_sentence}: time it" if row.work.cost else f"not compared: {row.unknown}"


def summary(result: AffectedResult) -> str:
    """Return the last line: `12 of 43 benchmarks run changed code, 31 run the same code`."""
    changed, same, unknown = (len(result.named(status)) for status in ("changed", "same", "unknown"))
    total = units.count(len(result.benchmarks), "benchmark")
    text = f"{changed} of {total} {'runs' if changed == 1 else 'run'} changed code, {same_code(same)}"
    if unknown:
        text += f", {unknown} could not be compared and count{'s' if unknown == 1 else ''} as affected"
    if by_cost := sum(row.work.cost is not None for row in result.benchmarks.values()):
        text += f"; a call's cost differs in {by_cost}"
    different = sum(
        row.results is not None and row.results.is_different for row in result.benchmarks.values()
    )
    return f"{text}; {units.count(different, 'different output')}" if different else text
