"""Shows results of `gnnbench bisect`: the commits or releases that changed times, or outputs."""

from collections.abc import Iterator

from ..drive.bisect.bisection import Bisected
from ..drive.bisect.history import Cause, Place
from ..drive.bisect.outputs import BisectedOutputs
from ..ground import units
from .document import Column, Document, Heading, Table, tables
from .lines import Note
from .names import abridge, labels_in

_MOST_CAUSES = 10
_UNSURE = ("undecided", "incomparable")
_COLUMNS = (
    Column("ratio", "ratio", lambda change: (change.ratio, True)),
    Column("interval", "interval", lambda change: change.bounds),
)


def document(result: Bisected, *, verbose: bool = True) -> Document:
    """Return the causes of changed times, each with its benchmarks, then notes."""
    blocks: list[Heading | Table | Note] = []
    for finding in result.findings:
        blocks += [*heading(finding), *tables(labels_in(finding.changes), _COLUMNS, finding.changes)]
        work_notes = (note for change in finding.changes.values() for note in change.work.notes())
        blocks += [*map(Note, dict.fromkeys(work_notes)), Note("repeat", finding.command)]
    reasons = [f"{name} cannot be measured: {reason}" for name, reason in result.unmeasured.items()]
    unsure = ((row.fullname, row.judgement) for row in result.ends.rows if row.judgement.verdict in _UNSURE)
    reasons += [f"{name}: {judgement.verdict}: {judgement.reason}" for name, judgement in unsure]
    notes = abridge([*reasons, *result.notes], verbose=verbose)
    return [*blocks, *map(Note, ["", *notes] if blocks else notes), Note(summary(result))]


def of_outputs(result: BisectedOutputs, *, verbose: bool = True) -> Document:
    """Return the causes of changed outputs, each with its benchmarks, then notes."""
    blocks: list[Heading | Table | Note] = []
    for change in result.changes:
        blocks += heading(change)
        blocks += [Note(f"{name}: {agreement.reason}") for name, agreement in change.benchmarks.items()]
    notes = [
        f"{name}: {agreement.excused or f'outputs not compared: {agreement.reason}'}"
        for name, agreement in result.results.items()
        if agreement.excused or agreement.status == "not compared"
    ]
    notes += [f"{name} cannot be compared: {reason}" for name, reason in result.unmeasured.items()]
    count = sum(len(change.benchmarks) for change in result.changes)
    total = units.count(count, "different output") if count else "no different output"
    benchmarks = units.count(len(result.results), "benchmark")
    progress = f"{result.compared} of {units.count(result.candidates, 'candidate')} compared"
    blocks += map(Note, abridge(notes, verbose=verbose))
    return [*blocks, Note(f"{total} in {benchmarks}; {progress}; {units.seconds(result.seconds)}")]


def heading(place: Place) -> Iterator[Heading | Note]:
    """Yield the cause as a heading. If several causes are possible, yield their range and the first ten."""
    first, *others = place.causes
    if not others:
        yield Heading(cause_line(first))
        return
    candidates = units.count(len(place.causes), first.kind)
    yield Heading(f"one of {candidates} after {place.before.name}, up to {place.after.name}:")
    yield from (Note(cause_line(cause)) for cause in place.causes[:_MOST_CAUSES])
    if (more := len(place.causes) - _MOST_CAUSES) > 0:
        yield Note(f"and {more} more")


def cause_line(cause: Cause) -> str:
    """Return a cause as text, such as `commit a1b2c3d4e5 (2026-01-31): its title`."""
    kind = "commit " if cause.kind == "commit" else ""
    day, title = f" ({cause.day})" if cause.day else "", f": {cause.title}" if cause.title else ""
    return f"{kind}{cause.short}{day}{title}"


def summary(result: Bisected) -> str:
    """Return the last line: counts of verdicts on GOOD against BAD, and how much was timed."""
    counts = result.verdicts
    words = ("slower", "faster", "accepted", "same", *_UNSURE, "ignored")
    verdicts = ", ".join(f"{counts[word]} {word}" for word in words if counts[word])
    if not counts["slower"] + counts["faster"] + counts["accepted"] + counts["ignored"]:
        outcome = "undecided" if counts["undecided"] else "GOOD and BAD do not differ"
        # There are no verdicts if the run was interrupted, or if all benchmarks were skipped.
        verdicts = f"{outcome}: {verdicts}" if counts else "no benchmark was compared"
    work = f"{units.count(result.candidates, 'candidate')}, {units.count(result.pairs, 'pair')} of processes"
    return f"{verdicts}; {work}; {units.seconds(result.seconds)}"
