"""What a change affects, as text: `gnnbench affected`."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from ..drive.affected import AffectedResult
from ..ground import units
from ..judge.visit import Inspections
from ..measure.fingerprint.difference import Difference
from .document import Column, Document, Note, Table, table
from .lines import line_width
from .names import groups, labels_in
from .wording import memory_notes, result_notes

_FEWEST_CHARACTERS = 24
"""Width of the column of functions, at least."""


def document(found: AffectedResult) -> Document:
    """Return a table of the affected benchmarks for each heading, and a line for each different output."""
    shown = {name: one for name, one in found.benchmarks.items() if one.status != "same"}
    blocks: list[Table | Note] = []
    for names in groups(labels_in(shown)):
        widths = [max(map(len, column)) for column in zip(names.columns, *names.cells.values(), strict=True)]
        left = max(line_width() - sum(widths) - len(widths), _FEWEST_CHARACTERS)
        blocks.append(table(names, [Column("changed", "text", partial(_changed, width=left))], shown))
    notes = (*_other_results(found), *_memory(found), *_partly_compared(found))
    return [*blocks, Note(""), *map(Note, notes)] if blocks else []


def _other_results(found: AffectedResult) -> list[str]:
    """Return a line for each benchmark with a different output."""
    return [
        f"a different output: {name}: {results.reason}"
        for name, one in found.benchmarks.items()
        if (results := one.results) and results.is_other
    ]


def _memory(found: AffectedResult) -> list[str]:
    """Return a line for each benchmark whose memory changed."""
    return [f"{name}: {note}" for name, one in found.benchmarks.items() for note in memory_notes(one.memory)]


def _partly_compared(found: AffectedResult) -> list[str]:
    """Return a line for each reason for which outputs were not compared, or only in part."""
    names: dict[str, list[str]] = {}
    for name, one in found.benchmarks.items():
        for note in result_notes(one.results) if one.results and not one.results.is_other else ():
            names.setdefault(note, []).append(name)
    return [f"{units.listed(of_note, 3)}: {note}" for note, of_note in names.items()]


def _changed(one: Inspections, width: int) -> str:
    difference = one.work.changed
    if difference:
        return _fitted(*difference.main(), width)
    return _other_cost(one) if one.work.cost else f"not compared: {one.unknown}"


def _other_cost(one: Inspections) -> str:
    return f"{one.work.cost_sentence}: time it"


def _fitted(sentence: str, names: Sequence[str], width: int) -> str:
    """Return a sentence with as many names as fit in a line, at least two, and the number of the others."""
    for shown in range(len(names), min(len(names), 2) - 1, -1):
        more = f" and {len(names) - shown} more" if shown < len(names) else ""
        text = sentence.format(f"{', '.join(names[:shown])}{more}")
        if len(text) <= width:
            break
    return text


def summary(found: AffectedResult) -> str:
    """Count: `12 of 43 benchmarks run changed code, 31 run the same code`."""
    changed, same, unknown = (len(found.named(status)) for status in ("changed", "same", "unknown"))
    of = units.count(len(found.benchmarks), "benchmark")
    text = f"{changed} of {of} {_run(changed)} changed code, {same} {_run(same)} the same code"
    if unknown:
        text += f", {unknown} could not be compared and count{'s' if unknown == 1 else ''} as affected"
    if costly := sum(one.work.cost is not None for one in found.benchmarks.values()):
        text += f"; {costly} of the changed run the same code at another cost"
    others = len(_other_results(found))
    return f"{text}; {units.count(others, 'different output')}" if others else text


def _run(count: int) -> str:
    return "runs" if count == 1 else "run"


def explanation(name: str, one: Inspections) -> Iterator[str]:
    """Return the lines about one benchmark: everything that differs between the sides."""
    yield name
    if one.unknown:
        yield f"could not be compared, and counts as affected: {one.unknown}"
    elif one.same_code:
        yield "runs the same code on both sides"
    elif one.work.cost:
        yield _other_cost(one)
    if difference := one.work.changed:
        yield from _functions(difference)
        for title, names in (
            ("values that they may read", difference.values),
            ("native libraries", difference.libraries),
            ("what they do", difference.work),
            ("settings", difference.settings),
        ):
            yield from _names(title, {name: name for name in names}, difference)
    if changes := one.work.counters:
        yield "\ncounters"
        yield from (f"  {change.name}: {change.base:,} → {change.head:,}" for change in changes)
    for note in memory_notes(one.memory):
        yield f"\n{note}"
    if results := one.results:
        reason = results.reason or results.reservation
        yield f"\noutputs: {results.status}{f', {reason}' if reason else ''}"


def _functions(difference: Difference) -> Iterator[str]:
    """Return the functions by module."""
    modules: dict[str, dict[str, str]] = {}
    for function in difference.functions:
        module, _, name = function.partition(":")
        modules.setdefault(module, {})[function] = name
    for module, names in sorted(modules.items()):
        yield from _names(f"functions of {module}", names, difference)


def _names(title: str, names: Mapping[str, str], difference: Difference) -> Iterator[str]:
    """Return a title and names, by that in the difference, each with the side that alone has it."""
    if names:
        yield f"\n{title}"
    for name, shown in names.items():
        side = difference.side_of(name)
        yield f"  {shown}{f'  (only {side})' if side else ''}"
