"""The page of `gnnbench trend`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...compare.trend.findings import SeriesChange
from ...compare.trend.penalty import SHORTEST_SERIES
from ...compare.trend.result import JudgedSeries, TrendResult
from .. import drawing, page
from ..charts.common import Spec
from ..names import clean, spec_of, titles
from ..style import Style
from . import commits, picture, table

_DRAWN = 30
"""Most benchmarks with a chart, to keep the page small; those that changed last have one."""
_DOTS = 4000
"""Most runs of all charts together that have a dot, with a text."""


@dataclass(frozen=True)
class TrendRow:
    """A change in the table."""

    one: JudgedSeries
    change: SeriesChange
    run: int
    """Number of the run, from 1."""
    date: str
    word: str
    moved: str
    level: str
    place: str
    commits: tuple[tuple[str, str], ...]
    """Name, and address or an empty text."""
    drawn: bool


@dataclass(frozen=True)
class TrendFigure:
    """A chart."""

    one: JudgedSeries
    svg: Any
    """Markup."""
    text: str


def html(result: TrendResult, skipped: Sequence[str], addresses: Mapping[str, str] | None = None) -> str:
    """Return the page: one file that loads nothing else.

    Args:
        result: the result.
        skipped: one line for each file that could not be used.
        addresses: web pages of commits, by hash; from `commits.addresses`.
    """
    changed = [one for one in result.judged if one.findings]
    changed.sort(key=lambda one: table.date(one, one.findings[-1]), reverse=True)
    drawn = changed[:_DRAWN]
    dots = _DOTS // max(len(drawn), 1)
    shared, labels = _labels(result)
    rows = [
        _row(one, change, addresses or {}, drawn=number < _DRAWN)
        for number, one in enumerate(changed)
        for change in one.findings
    ]
    rows.sort(key=lambda row: row.date, reverse=True)
    return page.render(
        "trend.html",
        result=result,
        headline=table.headline(result),
        rows=rows,
        figures=[_figure(one, labels[fragment(one)], dots) for one in drawn],
        not_drawn=len(changed) - len(drawn),
        environments=[
            (history, table.span(history), [*shared[history.environment], *table.notes(result, history)])
            for history in result.histories
        ],
        quiet=[one for one in result.judged if not one.findings],
        skipped=skipped,
        shortest=SHORTEST_SERIES,
        fragment=fragment,
        label=labels.__getitem__,
        several=len(result.histories) > 1,
        clean=clean,
    )


def _labels(result: TrendResult) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return a note on what all series of an environment have in common, and the label of each series.

    Returns:
        Notes by environment, and labels by `fragment`.
    """
    shared: dict[str, list[str]] = {}
    found: dict[str, str] = {}
    for history in result.histories:
        mine = [one for one in result.judged if one.history is history]
        names = [one.series.benchmark for one in mine]
        labels, common = titles(names, list(map(spec_of, names)))
        shared[history.environment] = [f"all benchmarks: {common}"] if common else []
        found |= {
            fragment(one): f"{title} {context}".strip()
            for one, (title, context) in zip(mine, labels, strict=True)
        }
    return shared, found


def fragment(one: JudgedSeries) -> str:
    """Return the id of a series' chart."""
    return page.fragment(one.history.environment, one.series.benchmark)


def _row(one: JudgedSeries, change: SeriesChange, addresses: Mapping[str, str], *, drawn: bool) -> TrendRow:
    runs = {commits.name(run): addresses.get(run.commit or "", "") for run in one.between(change)}
    return TrendRow(
        one,
        change,
        one.run(change.at) + 1,
        table.date(one, change),
        table.word(change),
        table.moved(change),
        table.level(change),
        table.place(one, change),
        tuple(runs.items()),
        drawn,
    )


def _figure(one: JudgedSeries, label: str, dots: int) -> TrendFigure:
    from markupsafe import Markup

    text = "; ".join(
        f"{table.moved(change)} at {table.place(one, change)}, {table.level(change)}"
        for change in one.findings
    )

    def draw(style: Style) -> Spec:
        return picture.draw(one, style, 0 if style.narrow else dots)  # a phone has no mouse

    return TrendFigure(one, Markup(drawing.for_page(draw, f"{label}: {text}")), text)  # noqa: S704 - shapes and text
