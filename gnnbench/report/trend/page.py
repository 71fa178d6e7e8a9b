"""The page of `gnnbench trend`."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from ...compare.trend.result import JudgedSeries, TrendResult
from ...compare.trend.steps import SHORTEST_SERIES
from .. import drawing, page
from ..names import spec_of, titles
from . import picture, table

_DRAWN = 30
"""Most benchmarks with a chart, to keep the page small; those that changed last have one."""


def html(result: TrendResult, skipped: Sequence[str]) -> str:
    """Return the page: one file that loads nothing else.

    Args:
        result: the result.
        skipped: one line for each file that could not be used.
    """
    rows = [(one, step) for one in result.judged for step in one.steps]
    rows.sort(key=lambda row: row[0].history.date(row[1].at), reverse=True)
    changed = {fragment(one): one for one, _ in rows}
    drawn = dict(list(changed.items())[:_DRAWN])
    shared, labels = _labels(result)
    return page.render(
        "trend.html",
        result=result,
        rows=rows,
        drawn=drawn,
        not_drawn=len(changed) - len(drawn),
        quiet=[one for one in result.judged if not one.steps],
        shared=shared,
        skipped=skipped,
        shortest=SHORTEST_SERIES,
        several=len(result.histories) > 1,
        figure=lambda one: _figure(one, labels[fragment(one)]),
        label=lambda one: labels[fragment(one)],
        fragment=fragment,
        table=table,
    )


def _labels(result: TrendResult) -> tuple[dict[str, str], dict[str, str]]:
    """Return what all series of each environment have in common, and the label of each series.

    Returns:
        By environment, and by `fragment`.
    """
    shared: dict[str, str] = {}
    found: dict[str, str] = {}
    for history in result.histories:
        mine = [one for one in result.of(history) if one.long_enough]
        names = [one.series.benchmark for one in mine]
        labels, shared[history.environment] = titles(names, list(map(spec_of, names)))
        found |= {
            fragment(one): f"{title} {context}".strip()
            for one, (title, context) in zip(mine, labels, strict=True)
        }
    return shared, found


def fragment(one: JudgedSeries) -> str:
    """Return the id of a series' chart."""
    return page.fragment(one.history.environment, one.series.benchmark)


def _figure(one: JudgedSeries, label: str) -> tuple[Any, str]:
    """Return the markup of a series' chart, and what it shows in words."""
    from markupsafe import Markup

    words = "; ".join(
        f"{table.moved(step)} at {table.place(step)}, {table.level(step)}" for step in one.steps
    )
    drawn = drawing.for_page(partial(picture.draw, one), f"{label}: {words}")
    return Markup(drawn), words  # noqa: S704 - shapes and text
