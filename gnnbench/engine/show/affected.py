"""What a change affects, as text: `gnnbench affected`."""

from ..drive.affected import AffectedResult
from ..ground import units
from ..judge.visit import Inspections
from .document import Column, Document, tables
from .lines import Note
from .names import brief, grouped, labels_in, short
from .verdicts import named
from .wording import memory_notes, result_notes


def document(found: AffectedResult, *, verbose: bool = True) -> Document:
    """Return a table of the affected benchmarks for each heading, and notes: those on outputs first."""
    shown = {name: one for name, one in found.benchmarks.items() if one.status != "same"}
    labels = labels_in(shown)
    names = short(labels)
    remarks = grouped((names[name], _remarks(one)) for name, one in shown.items())
    notes = brief([*remarks, *found.notes], verbose=verbose)
    columns = (Column("changed", "text", _changed), *named("memory", "outputs"))
    return [*tables(labels, columns, shown), *map(Note, ["", *notes] if shown else notes)]


def _remarks(one: Inspections) -> list[str]:
    if one.results and one.results.is_other:
        return [f"a different output: {one.results.reason}", *memory_notes(one.memory)]
    return [*result_notes(one.results), *memory_notes(one.memory)]


def _changed(one: Inspections) -> str:
    if one.work.changed:
        return one.work.changed.sentence()
    return f"{one.work.cost_sentence}: time it" if one.work.cost else f"not compared: {one.unknown}"


def summary(found: AffectedResult) -> str:
    """Count: `12 of 43 benchmarks run changed code, 31 run the same code`."""
    changed, same, unknown = (len(found.named(status)) for status in ("changed", "same", "unknown"))
    of = units.count(len(found.benchmarks), "benchmark")
    text = f"{changed} of {of} {_run(changed)} changed code, {same} {_run(same)} the same code"
    if unknown:
        text += f", {unknown} could not be compared and count{'s' if unknown == 1 else ''} as affected"
    if costly := sum(one.work.cost is not None for one in found.benchmarks.values()):
        text += f"; {costly} of the changed run the same code at another cost"
    others = sum(one.results is not None and one.results.is_other for one in found.benchmarks.values())
    return f"{text}; {units.count(others, 'different output')}" if others else text


def _run(count: int) -> str:
    return "runs" if count == 1 else "run"
