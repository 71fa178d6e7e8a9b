"""The page of `gnnbench trend`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import units
from ...compare.trend.findings import SeriesChange
from ...compare.trend.penalty import SHORTEST_SERIES
from ...compare.trend.result import JudgedSeries, TrendResult
from .. import drawing, page
from ..names import clean
from ..style import PAGE
from . import picture, table

_DRAWN = 30
"""Most benchmarks with a chart, to keep the page small; those that changed last have one."""


@dataclass(frozen=True)
class TrendRow:
    """A change in the table."""

    one: JudgedSeries
    change: SeriesChange
    run: int
    """Number of the run, from 1."""
    date: str
    word: str
    level: str
    place: str
    commits: str
    drawn: bool


@dataclass(frozen=True)
class TrendFigure:
    """A chart."""

    one: JudgedSeries
    svg: Any
    """Markup."""
    text: str


def html(result: TrendResult, skipped: Sequence[str]) -> str:
    """Return the page: one file that loads nothing else.

    Args:
        result: the result.
        skipped: one line for each file that could not be used.
    """
    changed = [one for one in result.judged if one.findings]
    changed.sort(key=lambda one: _date(one, one.findings[-1]), reverse=True)
    drawn = changed[:_DRAWN]
    rows = [
        _row(one, change, drawn=number < _DRAWN)
        for number, one in enumerate(changed)
        for change in one.findings
    ]
    rows.sort(key=lambda row: row.date, reverse=True)
    return page.render(
        "trend.html",
        result=result,
        headline=headline(result),
        rows=rows,
        figures=[_figure(one) for one in drawn],
        not_drawn=len(changed) - len(drawn),
        environments=[
            (history, table.span(history), table.notes(result, history)) for history in result.histories
        ],
        quiet=[one for one in result.judged if not one.findings],
        skipped=skipped,
        shortest=SHORTEST_SERIES,
        fragment=fragment,
        label=_labels(result).__getitem__,
        several=len(result.histories) > 1,
        clean=clean,
    )


def _labels(result: TrendResult) -> dict[str, str]:
    """Return the label of each series by its `fragment`."""
    found = {}
    for history in result.histories:
        mine = [one for one in result.judged if one.history is history]
        short = table.short_labels(mine)
        found.update({fragment(one): clean(short[one.series.benchmark]) for one in mine})
    return found


def headline(result: TrendResult) -> str:
    """Return the main result on one line."""
    if not result.judged:
        return f"No benchmark has the {SHORTEST_SERIES} runs that are needed"
    slower, of = len(result.slower), len(result.judged)
    if slower:
        return f"{slower} of {units.count(of, 'benchmark')} slower since the last change"
    changed = sum(bool(one.findings) for one in result.judged)
    return (
        f"No benchmark is slower since its last change; {changed} of {units.count(of, 'benchmark')} changed"
    )


def fragment(one: JudgedSeries) -> str:
    """Return the id of a series' chart."""
    return page.fragment(one.history.environment, one.series.benchmark)


def _row(one: JudgedSeries, change: SeriesChange, *, drawn: bool) -> TrendRow:
    return TrendRow(
        one,
        change,
        one.run(change.at) + 1,
        _date(one, change),
        table.word(change),
        table.level(change),
        table.place(one, change),
        table.commits(one, change),
        drawn,
    )


def _figure(one: JudgedSeries) -> TrendFigure:
    from markupsafe import Markup

    text = "; ".join(
        f"{table.word(change)} {change.ratio:.2f}x at {table.place(one, change)}, {table.level(change)}"
        for change in one.findings
    )
    svg = drawing.inline_svg(picture.draw(one, PAGE), f"{clean(one.series.label)}: {text}")
    return TrendFigure(one, Markup(svg), text)  # noqa: S704 - shapes and text


def _date(one: JudgedSeries, change: SeriesChange) -> str:
    return one.history.runs[one.run(change.at)].date
