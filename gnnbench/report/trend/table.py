"""The tables of `gnnbench trend`."""

import math
from collections.abc import Iterator, Mapping, Sequence

from rich.markup import escape
from rich.table import Table

from ... import units
from ...compare.trend.findings import SeriesChange
from ...compare.trend.history import History
from ...compare.trend.penalty import SHORTEST_SERIES
from ...compare.trend.result import JudgedSeries, TrendResult, together
from ...workloads.spec import Spec
from .. import labels
from ..labels import Labels
from ..names import clean, spec_of
from ..printout import Printout
from . import sparkline
from .commits import name as commit

_HISTORY = 18
"""Characters of a sparkline."""
_COLOURS = {"slower": "red", "faster": "green", "noisier": "yellow", "steadier": ""}
_TOGETHER = 3
"""Most common changes that get a note."""
_NAMED = 2
"""Most changed benchmarks that the headline names."""

_NAMED_MEMORY = 4
"""Most benchmarks that a line on memory names."""

Row = tuple[JudgedSeries, SeriesChange, int]
"""A change, and the number of earlier ones."""


def text(result: TrendResult, width: int | None, encoding: str, *, colour: bool) -> str:
    """Write the tables of each environment, the newest changes first, and its notes.

    Args:
        result: the result.
        width: characters per line; None: the output is not a terminal.
        encoding: encoding of the output; decides whether sparklines use blocks.
        colour: whether the output shows colours.
    """
    heights = sparkline.BLOCKS if _has(encoding, sparkline.BLOCKS) else sparkline.ASCII
    printout = Printout(width, colour=colour)
    for history in result.histories:
        mine = [one for one in result.judged if one.history is history]
        printout.show(f"\n[bold]{escape(clean(history.environment))}[/bold]", soft_wrap=True)
        printout.say(span(history))
        rows = [(one, change, earlier) for one in mine for change, earlier in latest(one)]
        rows.sort(key=lambda row: row[0].run(row[1].at), reverse=True)
        for number, group in enumerate(labels.groups(_specs([one for one, _, _ in rows]))):
            if number:
                printout.show()
            if group.shared:
                printout.show(group.heading())
            printout.show(_table(group, rows, result.effect, heights))
        for note in notes(result, history):
            printout.say(note)
    return printout.text


def _specs(judged: Sequence[JudgedSeries]) -> Mapping[str, Spec | None]:
    """Return the spec in each benchmark's id, by fullname."""
    return {one.series.benchmark: spec_of(one.series.benchmark) for one in judged}


def latest(one: JudgedSeries) -> Iterator[tuple[SeriesChange, int]]:
    """Yield the last change of the level and of the spread, each with the number of earlier ones."""
    for spread in (False, True):
        changes = [change for change in one.findings if (change.kind == "spread") is spread]
        if changes:
            yield changes[-1], len(changes) - 1


def word(change: SeriesChange) -> str:
    """Return the direction of a change."""
    if change.kind == "spread":
        return "noisier" if change.ratio > 1 else "steadier"
    return "slower" if change.slower else "faster"


def moved(change: SeriesChange) -> str:
    """Write the direction and the ratio: `slower 1.20x`."""
    return f"{word(change)} {units.ratio(change.ratio, '', changed=True)}"


def level(change: SeriesChange) -> str:
    """Write the level or spread before and after: `1.05 to 1.09 ms`."""
    if change.kind == "spread":
        return " to ".join(units.fraction(math.expm1(one)) for one in (change.before, change.after))
    before, after = (units.seconds(one / 1e9) for one in (change.before, change.after))
    number, unit = before.split()
    return f"{number if after.endswith(f' {unit}') else before} to {after}"


def place(one: JudgedSeries, change: SeriesChange) -> str:
    """Write the run of a change, from 1, and its 95 % range."""
    first, at, last = (one.run(index) + 1 for index in (change.first, change.at, change.last))
    if change.kind == "drift":
        return f"runs {first} to {at}"
    return f"run {at}" if first == last else f"run {at} ({first}-{last})"


def commits(one: JudgedSeries, change: SeriesChange) -> str:
    """Write the range of commits that contains a change, or the commit; dates if there are no commits."""
    return "..".join(dict.fromkeys(commit(run) for run in one.between(change)))


def notes(result: TrendResult, history: History) -> list[str]:
    """Return the notes on a history."""
    mine = [one for one in result.judged if one.history is history]
    small = sum(bool(one.small) and not one.findings for one in mine)
    quiet = sum(not one.findings for one in mine)
    found = [f"without a change: {quiet} of {units.count(len(mine), 'benchmark')}"]
    if small:
        found[0] += f", {small} of them with a change smaller than {units.fraction(result.effect)}"
    for run, count, of in together(mine, history)[:_TOGETHER]:
        where = f"run {run + 1}, {commit(history.runs[run])}"
        found.append(f"{where}: {count} of {of} benchmarks changed together, probably the machine")
    gone = sum(not result.current(one) for one in mine)
    counted = {
        f"not examined, fewer than {SHORTEST_SERIES} runs": len(history.series) - len(mine),
        "benchmarks not timed in the 30 days before the newest run": gone,
        "earlier series excluded, as code, graph or method of measurement differ": history.superseded,
        "times excluded, other programs used too much CPU time": history.contended,
        "old runs excluded": history.older,
    }
    counts = (f"{what}: {count}" for what, count in counted.items() if count)
    return [*found, *_memory(result, history), *counts]


def _memory(result: TrendResult, history: History) -> list[str]:
    """Return a line for each run at which peaks changed, of the last change of each benchmark."""
    mine = [one for one in result.weighed if one.history is history]
    names = labels.short({one.series.benchmark: spec_of(one.series.benchmark) for one in mine})
    lines: dict[str, list[str]] = {}
    for one in sorted(mine, key=lambda one: one.steps[-1].at, reverse=True):
        step = one.steps[-1]
        between = "..".join(dict.fromkeys(map(commit, one.between(step))))
        peaks = " to ".join(map(units.size, (step.change.base_bytes, step.change.head_bytes)))
        where = f"run {step.at + 1}, {between}: {step.change.verdict}"
        lines.setdefault(where, []).append(f"{names[one.series.benchmark]} {peaks}")
    return [f"{where}: {units.listed(found, _NAMED_MEMORY)}" for where, found in lines.items()]


def headline(result: TrendResult) -> str:
    """Return the main result on one line: what changed, and what is slower now."""
    count = len(result.heavier)
    heavier = f"; {count} need{'s' if count == 1 else ''} more memory now" if count else ""
    if not result.judged:
        return f"No benchmark has the {SHORTEST_SERIES} runs that are needed{heavier}"
    of = units.count(len(result.judged), "benchmark")
    changed = [one for one in result.judged if one.findings]
    if not changed:
        text = f"None of {of} changed" if len(result.judged) > 1 else "The one benchmark did not change"
        return f"{text}{heavier}"
    slower = {id(one) for one in result.slower}
    changed.sort(key=lambda one: date(one, one.findings[-1]), reverse=True)
    changed.sort(key=lambda one: id(one) not in slower)
    names = labels.short(_specs(changed))
    named = [f"{names[one.series.benchmark]} {_summary(one)}" for one in changed[:_NAMED]]
    more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    now = {0: "none is slower now", 1: "1 is slower now"}.get(len(slower), f"{len(slower)} are slower now")
    return f"{len(changed)} of {of} changed: {', '.join(named)}{more}; {now}{heavier}"


def date(one: JudgedSeries, change: SeriesChange) -> str:
    """Return the date by which the run of a change has its place."""
    return one.history.date(one.history.runs[one.run(change.at)])


def _summary(one: JudgedSeries) -> str:
    """Write the last change of the level, or else of the spread: `slower 1.20x`."""
    change, _ = next(latest(one))
    return moved(change)


def _table(group: Labels, rows: Sequence[Row], effect: float, heights: str) -> Table:
    table = group.table()
    table.add_column("history", no_wrap=True, width=_HISTORY)
    table.add_column("change", no_wrap=True)
    table.add_column("where", no_wrap=True)
    for one, change, earlier in rows:
        if one.series.benchmark not in group.cells:
            continue
        style = _COLOURS[word(change)]
        ratio = moved(change)
        where = [place(one, change), escape(commits(one, change))]
        if earlier:
            where.append(units.count(earlier, "earlier change"))
        table.add_row(
            *group.row(one.series.benchmark),
            f"{sparkline.draw(one.series.logs, _HISTORY, 2 * effect, heights)}\n{level(change)}",
            f"{f'[{style}]{ratio}[/{style}]' if style else ratio}\n{units.interval(change.low, change.high)}",
            "\n".join(where),
        )
    return table


def span(history: History) -> str:
    """Write the number of runs, their dates and their order."""
    dates = [history.date(run) for run in history.runs]
    first, last = min(dates), max(dates)
    number = units.count(len(history.runs), "run")
    return f"{number} from {first[:10]} to {last[:10]}, ordered by {history.ordered_by}"


def _has(encoding: str, characters: str) -> bool:
    try:
        characters.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
