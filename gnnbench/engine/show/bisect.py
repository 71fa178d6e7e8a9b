"""What a bisection found, for a terminal and as Markdown."""

from collections.abc import Iterator

from ..drive.bisect.bisection import Bisected
from ..drive.bisect.line import Cause, Place
from ..drive.bisect.outputs import BisectedOutputs
from ..ground import units
from .document import Column, Document, Heading, Table, tables
from .lines import Note
from .names import brief, labels_in

_MOST_CAUSES = 10
_UNSURE = ("undecided", "incomparable")
_COLUMNS = (
    Column("ratio", "ratio", lambda change: (change.ratio, True)),
    Column("interval", "interval", lambda change: change.bounds),
)


def document(result: Bisected, *, verbose: bool = True) -> Document:
    """Return what changed the benchmarks: each cause with its benchmarks, and notes."""
    blocks: list[Heading | Table | Note] = []
    for finding in result.findings:
        blocks += [*heading(finding), *tables(labels_in(finding.changes), _COLUMNS, finding.changes)]
        lines = (line for change in finding.changes.values() for line in change.work.notes())
        blocks += [*map(Note, dict.fromkeys(lines)), Note("repeat", finding.command)]
    reasons = [f"{name} cannot be measured: {reason}" for name, reason in result.unmeasured.items()]
    judgements = ((row.fullname, row.judgement) for row in result.ends.rows)
    reasons += [f"{name}: {why.verdict}: {why.reason}" for name, why in judgements if why.verdict in _UNSURE]
    notes = brief([*reasons, *result.notes], verbose=verbose)
    return [*blocks, *map(Note, ["", *notes] if blocks else notes), Note(summary(result))]


def of_outputs(result: BisectedOutputs, *, verbose: bool = True) -> Document:
    """Return what changed outputs: each cause with its benchmarks, and notes."""
    blocks: list[Heading | Table | Note] = []
    for change in result.changes:
        blocks += heading(change)
        blocks += [Note(f"{name}: {agreement.reason}") for name, agreement in change.benchmarks.items()]
    others = {name: each.reason for name, each in result.results.items() if each.status == "not compared"}
    notes = [f"{name}: outputs not compared: {reason}" for name, reason in others.items()]
    notes += [f"{name} cannot be compared: {reason}" for name, reason in result.unmeasured.items()]
    count = sum(len(change.benchmarks) for change in result.changes)
    total = units.count(count, "other output") if count else "no other output"
    whole = units.count(len(result.results), "benchmark")
    progress = f"{result.compared} of {units.count(result.candidates, 'candidate')} compared"
    blocks += map(Note, brief(notes, verbose=verbose))
    return [*blocks, Note(f"{total} of {whole}; {progress}; {units.seconds(result.seconds)}")]


def heading(place: Place) -> Iterator[Heading | Note]:
    """Yield the lines that name the cause, or the range in which it is."""
    first, *others = place.causes
    if not others:
        yield Heading(named(first))
        return
    what = units.count(len(place.causes), first.kind)
    yield Heading(f"one of {what} after {place.before.name}, up to {place.after.name}:")
    yield from (Note(named(cause)) for cause in place.causes[:_MOST_CAUSES])
    if (more := len(place.causes) - _MOST_CAUSES) > 0:
        yield Note(f"and {more} more")


def named(cause: Cause) -> str:
    """Return a cause in a line: `commit a1b2c3d4e5 (2026-01-31): its title`."""
    kind, title = "commit " if cause.kind == "commit" else "", f": {cause.title}" if cause.title else ""
    return f"{kind}{cause.short}{f' ({cause.day})' if cause.day else ''}{title}"


def summary(result: Bisected) -> str:
    """Return the last line: how the ends differ, and what was done."""
    counts = result.verdicts
    words = ("slower", "faster", "same", *_UNSURE)
    ends = ", ".join(f"{counts[word]} {word}" for word in words if counts[word])
    if not counts["slower"] + counts["faster"]:  # no counts: interrupted at once, or all skipped
        how = "undecided" if counts["undecided"] else "GOOD and BAD do not differ"
        ends = f"{how}: {ends}" if counts else "no benchmark was compared"
    work = f"{units.count(result.candidates, 'candidate')}, {units.count(result.pairs, 'pair')} of processes"
    return f"{ends}; {work}; {units.seconds(result.seconds)}"
