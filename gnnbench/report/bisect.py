"""What a bisection found, as text and Markdown."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rich.table import Table

from .. import units
from ..compare.ab.inspections import Inspections
from ..compare.bisect.followed import Span
from ..compare.bisect.line import Candidate, Cause
from ..compare.bisect.result import BisectResult, Finding
from ..compare.bisect.session import Bisected
from . import labels
from .labels import Labels
from .markdown_text import cell, code, prose
from .names import spec_of
from .printout import Printout

_MOST_CAUSES = 10
"""Candidates of a range that are listed."""
_MOST_UNMEASURED = 5
_NOUNS = {"commit": "commit", "release": "release", "package": "step"}


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
        for finding in found.findings(stage):
            printout.say("")
            for line in heading(stage, finding):
                printout.say(line)
            for group in labels.groups({name: spec_of(name) for name in finding.spans}):
                printout.show(group.heading())
                printout.show(_table(group, finding.spans))
            for line in changed(finding.inspections):
                printout.say(line)
            printout.say(f"repeat: {finding.command}")
        if found.findings(stage):
            printout.say("")
        for line in notes(stage):
            printout.say(line)
    printout.say(summary(found))
    out(printout.text)


def _table(group: Labels, spans: Mapping[str, Span]) -> Table:
    table = group.table()
    table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("interval", justify="right", no_wrap=True)
    for name in group.cells:
        table.add_row(*group.row(name), *cells(spans[name]))
    return table


def cells(span: Span) -> tuple[str, str]:
    """Return ratio and interval as text."""
    return units.ratio(span.ratio, changed=True), units.interval(*span.bounds)


def heading(stage: Bisected, finding: Finding) -> Iterator[str]:
    """Return the lines that name the cause, or the range in which it is."""
    kind = stage.line.kind
    if len(finding.causes) == 1:
        yield named(finding.causes[0])
        return
    names = [stage.line.candidates[position].name for position in (finding.low, finding.high)]
    what = units.count(len(finding.causes), _NOUNS[kind])
    yield f"one of {what} after {names[0]}, up to {names[1]}:"
    for cause in finding.causes[:_MOST_CAUSES]:
        yield f"  {named(cause)}"
    if (more := len(finding.causes) - _MOST_CAUSES) > 0:
        yield f"  and {more} more"


def named(cause: Cause) -> str:
    """Return a cause in a line: `commit a1b2c3d4e5 (2026-01-31): its title`."""
    day = f" ({cause.day})" if cause.day else ""
    title = f": {cause.title}" if cause.title else ""
    undone = "without " if cause.undone else ""
    kind = f"{cause.kind} " if cause.kind == "commit" else ""
    return f"{undone}{kind}{cause.short}{day}{title}"


def changed(inspections: Mapping[str, Inspections]) -> list[str]:
    """Return a line for each difference in code and counters, with the benchmarks that have it."""
    return list(dict.fromkeys(note for one in inspections.values() for note in one.work.notes()))


def notes(stage: Bisected) -> Iterator[str]:
    """Return the lines below what was found."""
    reasons = [
        f"{stage.line.candidates[position].name} cannot be measured: {reason}"
        for position, reason in sorted(stage.unmeasured.items())
    ]
    yield from reasons[:_MOST_UNMEASURED]
    if (more := len(reasons) - _MOST_UNMEASURED) > 0:
        yield f"and {more} more"
    for low, high in dict.fromkeys((one.low, one.high) for found in stage.spans.values() for one in found):
        (cause, *others) = stage.line.causes(low, high)
        if not others and cause.parents > 1:
            yield _merge(stage.line.candidates[high], cause)
    yield from stage.notes


def _merge(merge: Candidate, cause: Cause) -> str:
    """Return the line on a merge, whose own commits are not candidates."""
    ends = [merge.variant.replace(cause.name, f"{cause.name}^{parent}") for parent in (1, 2)]
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
    return f"{ends}; {units.count(len(found.stages[0].line.candidates) - 1, 'candidate')}, {done}"


def markdown(found: BisectResult) -> str:
    """Return the answer in GitHub's Markdown."""
    lines = [f"**{prose(summary(found))}**", "", f"{code(found.good)} → {code(found.bad)}"]
    for stage in found.stages:
        for finding in found.findings(stage):
            first, *others = heading(stage, finding)
            lines += ["", f"#### {prose(first)}", *(f"- {prose(line.strip())}" for line in others), ""]
            names = Labels.of({name: spec_of(name) for name in finding.spans})
            lines += [f"| {' | '.join((*names.columns, 'ratio', 'interval'))} |"]
            lines += [f"|{'---|' * len(names.columns)}---:|---:|"]
            for name, span in finding.spans.items():
                lines.append(f"| {' | '.join((*map(cell, names.cells[name]), *cells(span)))} |")
            lines += ["", *(f"- {prose(line)}" for line in changed(finding.inspections))]
            lines += [f"- repeat: {code(finding.command, most=len(finding.command))}"]
        lines += ["", *(f"- {prose(line)}" for line in notes(stage))]
    return "\n".join(lines) + "\n"
