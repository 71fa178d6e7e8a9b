"""What a bisection found, as text and Markdown."""

import shlex
from collections.abc import Iterator

from ..drive.bisect.line import Cause, Place
from ..drive.bisect.outputs import BisectedOutputs
from ..drive.bisect.result import Bisected, BisectResult, Finding
from ..ground import units
from . import markdown_text
from .document import Column, Document, Heading, Note, Table, tables
from .markdown_text import code, prose
from .names import labels_in, short

_MOST_CAUSES = 10
"""Candidates of a range that are listed."""
_MOST_UNMEASURED = 5
_COLUMNS = (
    Column("ratio", "ratio", lambda change: (change.ratio, True)),
    Column("interval", "interval", lambda change: change.bounds),
)


def document(found: BisectResult) -> Document:
    """Return what changed the benchmarks: each cause with its benchmarks, and notes."""
    blocks: list[Heading | Table | Note] = []
    for stage in found.stages:
        for finding in stage.findings:
            first, *others = heading(finding)
            blocks += [
                Heading(first),
                *map(Note, others),
                *tables(labels_in(finding.changes), _COLUMNS, finding.changes),
            ]
            lines = [*(_shares(stage, finding) if stage.line.kind == "hunk" else ()), *_changed(finding)]
            blocks += [*map(Note, lines), Note("repeat", found.command(finding))]
        blocks += map(Note, ("", *_notes(stage)) if stage.findings else _notes(stage))
    return blocks


def markdown(found: BisectResult) -> str:
    """Return the answer in GitHub's Markdown."""
    ends = f"{code(found.good)} → {code(found.bad)}"
    return f"**{prose(summary(found))}**\n\n{ends}\n\n{markdown_text.Markdown().write(document(found))}"


def of_outputs(found: BisectedOutputs) -> Document:
    """Return what changed outputs: each cause with its benchmarks, and notes."""
    blocks: list[Heading | Table | Note] = []
    for change in found.changes:
        first, *others = heading(change)
        blocks += [Heading(first), *map(Note, others)]
        blocks += [Note(f"{name}: {one.reason}") for name, one in change.benchmarks.items()]
    notes = [
        f"{name}: outputs not compared: {one.reason}"
        for name, one in found.results.items()
        if one.status == "not compared"
    ]
    notes += [f"{name} cannot be compared: {reason}" for name, reason in found.unmeasured.items()]
    count = sum(len(change.benchmarks) for change in found.changes)
    total = units.count(count, "other output") if count else "no other output"
    done = f"{found.compared} of {units.count(found.candidates, 'candidate')} compared"
    last = (
        f"{total} of {units.count(len(found.results), 'benchmark')}; {done}; {units.seconds(found.seconds)}"
    )
    return [*blocks, *map(Note, notes), Note(last)]


def heading(finding: Place) -> Iterator[str]:
    """Return the lines that name the cause, or the range in which it is."""
    if len(finding.causes) == 1:
        yield named(finding.causes[0])
        return
    what = units.count(len(finding.causes), finding.causes[0].kind)
    yield f"one of {what} after {finding.before.name}, up to {finding.after.name}:"
    for cause in finding.causes[:_MOST_CAUSES]:
        yield named(cause)
    if (more := len(finding.causes) - _MOST_CAUSES) > 0:
        yield f"and {more} more"


def named(cause: Cause) -> str:
    """Return a cause in a line: `commit a1b2c3d4e5 (2026-01-31): its title`."""
    day = f" ({cause.day})" if cause.day else ""
    title = f": {cause.title}" if cause.title else ""
    undone = "without " if cause.undone else ""
    kind = f"{cause.kind} " if cause.kind == "commit" else ""
    return f"{undone}{kind}{cause.short}{day}{title}"


def _shares(stage: Bisected, finding: Finding) -> Iterator[str]:
    """Return how much of each benchmark's change is that of a hunk, and whether its result is another one."""
    names = short(labels_in(finding.changes))
    for name, change in finding.changes.items():
        inspected = finding.inspections.get(name)
        results = f"; results {inspected.results.status}" if inspected and inspected.results else ""
        word = "loss" if change.ratio > 1 else "gain"
        yield f"{names[name]}: {100 * stage.share(name, change):.0f}% of the {word}{results}"


def _changed(finding: Finding) -> list[str]:
    """Return a line for each difference in code and counters, with the benchmarks that have it."""
    return list(dict.fromkeys(note for one in finding.inspections.values() for note in one.work.notes()))


def _notes(stage: Bisected) -> Iterator[str]:
    reasons = [f"{name} cannot be measured: {reason}" for name, reason in stage.unmeasured.items()]
    yield from reasons[:_MOST_UNMEASURED]
    if (more := len(reasons) - _MOST_UNMEASURED) > 0:
        yield f"and {more} more"
    for finding in stage.findings:
        if len(finding.causes) == 1 and finding.causes[0].parents > 1:
            yield _merge(finding)
    yield from stage.notes


def _merge(finding: Finding) -> str:
    """Return the line on a merge, whose own commits are not candidates."""
    (cause,) = finding.causes
    ends = [finding.after.variant.replace(cause.name, f"{cause.name}^{parent}") for parent in (1, 2)]
    return f"{cause.short} is a merge; to search its own commits: {shlex.join(['gnnbench', 'bisect', *ends])}"


def summary(found: BisectResult) -> str:
    """Return the last line: how the ends differ, and what was done."""
    counts = found.verdicts()
    words = ("slower", "faster", "same", "undecided", "incomparable")
    ends = ", ".join(f"{counts[word]} {word}" for word in words if counts[word])
    if not counts:  # interrupted in the first pair, or all are skipped
        ends = "no benchmark was compared"
    elif not counts["slower"] + counts["faster"]:
        ends = f"{'undecided' if counts['undecided'] else 'the ends do not differ'}: {ends}"
    pairs = sum(stage.pairs for stage in found.stages)
    seconds = sum(stage.seconds for stage in found.stages)
    done = f"{units.count(pairs, 'pair')} of processes; {units.seconds(seconds)}"
    return f"{ends}; {units.count(found.stages[0].line.last, 'candidate')}, {done}"
