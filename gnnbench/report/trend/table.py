"""The tables of `gnnbench trend`."""

import io
import math
from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ... import units
from ...compare.trend.findings import SeriesChange
from ...compare.trend.history import History, HistoryRun
from ...compare.trend.penalty import SHORTEST_SERIES
from ...compare.trend.result import JudgedSeries, TrendResult, together
from ..names import clean
from . import sparkline

_HISTORY = 18
"""Characters of a sparkline."""
_SHORT = 7
"""Characters of a commit."""
_COLOURS = {"slower": "red", "faster": "green", "noisier": "yellow", "steadier": ""}
_TOGETHER = 3
"""Most common changes that get a note."""


def text(result: TrendResult, width: int, encoding: str, *, colour: bool) -> str:
    """Write a table for each environment, the newest changes first, and its notes.

    Args:
        result: the result.
        width: characters per line.
        encoding: encoding of the output; decides whether sparklines use blocks.
        colour: whether the output shows colours.
    """
    heights = sparkline.BLOCKS if _has(encoding, sparkline.BLOCKS) else sparkline.ASCII
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=colour, highlight=False)
    for history in result.histories:
        mine = [one for one in result.judged if one.history is history]
        console.print(f"\n[bold]{escape(clean(history.environment))}[/bold]", soft_wrap=True)
        console.print(span(history), markup=False)
        rows = [(one, change, earlier) for one in mine for change, earlier in latest(one)]
        rows.sort(key=lambda row: row[0].run(row[1].at), reverse=True)
        if rows:
            console.print(_table(rows, result.effect, heights, short_labels(mine)))
        for note in notes(result, history):
            console.print(note, markup=False)
    return out.getvalue()


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
    """Write the range of commits that contains a change; dates if there are no commits."""
    return "..".join(_commit(run) for run in one.between(change))


def notes(result: TrendResult, history: History) -> list[str]:
    """Return the notes on a history."""
    mine = [one for one in result.judged if one.history is history]
    small = sum(bool(one.small) and not one.findings for one in mine)
    quiet = sum(not one.findings for one in mine)
    found = [f"without a change: {quiet} of {units.count(len(mine), 'benchmark')}"]
    if small:
        found[0] += f", {small} of them with a change smaller than {units.fraction(result.effect)}"
    for run, count, of in together(result, history)[:_TOGETHER]:
        found.append(f"run {run + 1}: {count} of {of} benchmarks changed together, probably the machine")
    gone = sum(not result.current(one) for one in mine)
    counted = {
        f"not examined, fewer than {SHORTEST_SERIES} runs": len(history.series) - len(mine),
        "benchmarks not timed in the 30 days before the newest run": gone,
        "earlier series excluded, as code, graph or method of measurement differ": history.superseded,
        "times excluded, other programs used too much CPU time": history.contended,
        "old runs excluded": history.older,
    }
    return [*found, *(f"{what}: {count}" for what, count in counted.items() if count)]


def count(result: TrendResult) -> str:
    """Return the summary line."""
    changed = sum(bool(one.findings) for one in result.judged)
    return (
        f"{units.count(changed, 'benchmark')} changed, "
        f"{len(result.slower)} of them slower since the last change; "
        f"{len(result.judged) - changed} without a change"
    )


def short_labels(judged: list[JudgedSeries]) -> dict[str, str]:
    """Return the label of each benchmark by fullname, without the file if that is unambiguous."""
    labels = {one.series.benchmark: one.series.label for one in judged}
    short = {name: label.partition("::")[2] or label for name, label in labels.items()}
    return short if len(set(short.values())) == len(short) else labels


def _table(
    rows: list[tuple[JudgedSeries, SeriesChange, int]], effect: float, heights: str, labels: dict[str, str]
) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("benchmark", overflow="fold")
    table.add_column("history", no_wrap=True, width=_HISTORY)
    table.add_column("change", no_wrap=True)
    table.add_column("where", no_wrap=True)
    for one, change, earlier in rows:
        style = _COLOURS[word(change)]
        ratio = f"{word(change)} {change.ratio:.2f}x"
        slowly = "slowly, " if change.kind == "drift" else ""
        before = f", {earlier} before" if earlier else ""
        table.add_row(
            escape(clean(labels[one.series.benchmark])),
            f"{sparkline.draw(one.series.logs, _HISTORY, 2 * effect, heights)}\n{level(change)}",
            f"{f'[{style}]{ratio}[/{style}]' if style else ratio}\n"
            f"{slowly}{units.interval(change.low, change.high)}",
            f"{place(one, change)}{before}\n{escape(commits(one, change))}",
        )
    return table


def span(history: History) -> str:
    """Write the number of runs, their dates and their order."""
    first, last = min(run.date for run in history.runs), max(run.date for run in history.runs)
    number = units.count(len(history.runs), "run")
    return f"{number} from {first[:10]} to {last[:10]}, ordered by {history.ordered_by}"


def _commit(run: HistoryRun) -> str:
    name = clean(run.commit[:_SHORT]) if run.commit else run.date[:10]
    return f"{name}+" if run.dirty else name


def _has(encoding: str, characters: str) -> bool:
    try:
        characters.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
