"""What a bisection found, as text and Markdown."""

import shlex
from collections.abc import Callable, Iterator
from typing import Any

from .. import units
from ..compare.bisect.line import Cause
from ..compare.bisect.result import Bisected, BisectResult, Finding
from . import labels
from .console import Printout
from .labels import Labels
from .markdown_text import cell, code, prose
from .names import spec_of

_MOST_CAUSES = 10
"""Candidates of a range that are listed."""
_MOST_UNMEASURED = 5
_NOUNS = {"commit": "commit", "release": "release", "package": "step"}
_COLUMNS = ("ratio", "interval")
"""Of the tables, after the names."""


def write(found: BisectResult, out: Callable[[str], Any], width: int | None, *, colour: bool) -> None:
    """Write the answer.

    Args:
        found: the result.
        out: writes a text.
        width: characters per line; None: the output is not a terminal.
        colour: whether the output shows colours.
    """
    printout = Printout(width, colour=colour)
    for stage in found.stages:
        for finding in stage.findings:
            for line in ("", *heading(finding)):
                printout.say(line)
            for names in labels.groups({name: spec_of(name) for name in finding.changes}):
                table = names.table()
                for column in _COLUMNS:
                    table.add_column(column, justify="right", no_wrap=True)
                for name in names.cells:
                    table.add_row(*names.row(name), *_cells(finding, name))
                printout.show(names.heading())
                printout.show(table)
            for line in (*_changed(finding), f"repeat: {found.command(finding)}"):
                printout.say(line)
        for line in ("", *_notes(stage)) if stage.findings else _notes(stage):
            printout.say(line)
    printout.say(summary(found))
    out(printout.text)


def markdown(found: BisectResult) -> str:
    """Return the answer in GitHub's Markdown."""
    lines = [f"**{prose(summary(found))}**", "", f"{code(found.good)} → {code(found.bad)}"]
    for stage in found.stages:
        for finding in stage.findings:
            first, *others = heading(finding)
            lines += ["", f"#### {prose(first)}", *(f"- {prose(line.strip())}" for line in others), ""]
            names = Labels.of({name: spec_of(name) for name in finding.changes})
            lines += [f"| {' | '.join((*names.columns, *_COLUMNS))} |"]
            lines += [f"|{'---|' * len(names.columns)}{'---:|' * len(_COLUMNS)}"]
            for name, shown in names.cells.items():
                lines.append(f"| {' | '.join((*map(cell, shown), *_cells(finding, name)))} |")
            lines += ["", *(f"- {prose(line)}" for line in _changed(finding))]
            command = found.command(finding)
            lines += [f"- repeat: {code(command, most=len(command))}"]
        lines += ["", *(f"- {prose(line)}" for line in _notes(stage))]
    return "\n".join(lines) + "\n"


def _cells(finding: Finding, name: str) -> tuple[str, str]:
    """Return the cells of a benchmark, by _COLUMNS."""
    change = finding.changes[name]
    return units.ratio(change.ratio, changed=True), units.interval(*change.bounds)


def heading(finding: Finding) -> Iterator[str]:
    """Return the lines that name the cause, or the range in which it is."""
    if len(finding.causes) == 1:
        yield _named(finding.causes[0])
        return
    what = units.count(len(finding.causes), _NOUNS[finding.causes[0].kind])
    yield f"one of {what} after {finding.before.name}, up to {finding.after.name}:"
    for cause in finding.causes[:_MOST_CAUSES]:
        yield f"  {_named(cause)}"
    if (more := len(finding.causes) - _MOST_CAUSES) > 0:
        yield f"  and {more} more"


def _named(cause: Cause) -> str:
    """Return a cause in a line: `commit a1b2c3d4e5 (2026-01-31): its title`."""
    day = f" ({cause.day})" if cause.day else ""
    title = f": {cause.title}" if cause.title else ""
    undone = "without " if cause.undone else ""
    kind = f"{cause.kind} " if cause.kind == "commit" else ""
    return f"{undone}{kind}{cause.short}{day}{title}"


def _changed(finding: Finding) -> list[str]:
    """Return a line for each difference in code and counters, with the benchmarks that have it."""
    return list(dict.fromkeys(note for one in finding.inspections.values() for note in one.work.notes()))


def _notes(stage: Bisected) -> Iterator[str]:
    """Return the lines below what was found."""
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
