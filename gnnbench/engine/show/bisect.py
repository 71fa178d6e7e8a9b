"""What a bisection found, for a terminal and as Markdown."""

import shlex
from collections.abc import Iterator

from ..drive.bisect.bisection import Bisected
from ..drive.bisect.line import Cause, Place
from ..drive.bisect.outputs import BisectedOutputs
from ..ground import units
from .document import Column, Document, Heading, Note, Table, tables
from .names import labels_in

_MOST_CAUSES = 10
"""Candidates of a range that are listed."""
_MOST_UNMEASURED = 5
_UNSURE = ("undecided", "incomparable")
_COLUMNS = (
    Column("ratio", "ratio", lambda change: (change.ratio, True)),
    Column("interval", "interval", lambda change: change.bounds),
)


def document(found: Bisected) -> Document:
    """Return what changed the benchmarks: each cause with its benchmarks, and notes."""
    blocks: list[Heading | Table | Note] = []
    for finding in found.findings:
        blocks += [*heading(finding), *tables(labels_in(finding.changes), _COLUMNS, finding.changes)]
        lines = (line for change in finding.changes.values() for line in change.work.notes())
        blocks += [*map(Note, dict.fromkeys(lines)), Note("repeat", finding.command)]
        cause, *others = finding.causes
        if cause.parents > 1 and not others and not cause.undone:
            ends = [finding.after.variant.replace(cause.name, f"{cause.name}^{number}") for number in (1, 2)]
            blocks.append(
                Note("it is a merge; search its commits", shlex.join(["gnnbench", "bisect", *ends]))
            )
    reasons = [f"{name} cannot be measured: {reason}" for name, reason in found.unmeasured.items()]
    judged = ((row.fullname, row.judgement) for row in found.ends.rows)
    reasons += [f"{name}: {why.verdict}: {why.reason}" for name, why in judged if why.verdict in _UNSURE]
    more = [f"and {len(reasons) - _MOST_UNMEASURED} more"] if len(reasons) > _MOST_UNMEASURED else []
    notes = [*reasons[:_MOST_UNMEASURED], *more, *found.notes]
    return [*blocks, *map(Note, ["", *notes] if blocks else notes), Note(summary(found))]


def of_outputs(found: BisectedOutputs) -> Document:
    """Return what changed outputs: each cause with its benchmarks, and notes."""
    blocks: list[Heading | Table | Note] = []
    for change in found.changes:
        blocks += heading(change)
        blocks += [Note(f"{name}: {agreement.reason}") for name, agreement in change.benchmarks.items()]
    blocks += [
        Note(f"{name}: outputs not compared: {agreement.reason}")
        for name, agreement in found.results.items()
        if agreement.status == "not compared"
    ]
    blocks += [Note(f"{name} cannot be compared: {reason}") for name, reason in found.unmeasured.items()]
    count = sum(len(change.benchmarks) for change in found.changes)
    total = units.count(count, "other output") if count else "no other output"
    whole = units.count(len(found.results), "benchmark")
    done = f"{found.compared} of {units.count(found.candidates, 'candidate')} compared"
    return [*blocks, Note(f"{total} of {whole}; {done}; {units.seconds(found.seconds)}")]


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
    kind = "commit " if cause.kind == "commit" else ""
    undone = "without " if kind and cause.undone else ""
    day, title = f" ({cause.day})" if cause.day else "", f": {cause.title}" if cause.title else ""
    return f"{undone}{kind}{cause.short}{day}{title}"


def summary(found: Bisected) -> str:
    """Return the last line: how the ends differ, and what was done."""
    counts = found.verdicts
    words = ("slower", "faster", "same", "undecided", "incomparable")
    ends = ", ".join(f"{counts[word]} {word}" for word in words if counts[word])
    if not counts:  # interrupted in the first pair, or all are skipped
        ends = "no benchmark was compared"
    elif not counts["slower"] + counts["faster"]:
        ends = f"{'undecided' if counts['undecided'] else 'the ends do not differ'}: {ends}"
    done = f"{units.count(found.candidates, 'candidate')}, {units.count(found.pairs, 'pair')} of processes"
    return f"{ends}; {done}; {units.seconds(found.seconds)}"
