"""The page of `gnnbench trend`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ... import git
from ...compare.trend.result import JudgedSeries, TrendResult
from ...compare.trend.steps import SHORTEST_SERIES
from .. import drawing, page
from ..charts.common import Spec
from ..names import spec_of, titles
from ..style import Style
from . import picture, table

_DRAWN = 30
"""Most benchmarks with a chart, to keep the page small; those that changed last have one."""
_DOTS = 4000
"""Most runs of all charts together that have a dot, with a text."""


def html(result: TrendResult, skipped: Sequence[str], addresses: Mapping[str, str] | None = None) -> str:
    """Return the page: one file that loads nothing else.

    Args:
        result: the result.
        skipped: one line for each file that could not be used.
        addresses: web pages of commits, by hash; from `addresses_of`.
    """
    rows = [(one, step) for one in result.judged for step in one.steps]
    rows.sort(key=lambda row: row[0].history.date(row[1].at), reverse=True)
    changed = {fragment(one): one for one, _ in rows}
    drawn = dict(list(changed.items())[:_DRAWN])
    dots = _DOTS // max(len(drawn), 1)
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
        addresses=addresses or {},
        several=len(result.histories) > 1,
        figure=lambda one: _figure(one, labels[fragment(one)], dots),
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


def _figure(one: JudgedSeries, label: str, dots: int) -> tuple[Any, str]:
    """Return the markup of a series' chart, and what it shows in words."""
    from markupsafe import Markup

    words = "; ".join(
        f"{table.moved(step)} at {table.place(step)}, {table.level(step)}" for step in one.steps
    )

    def draw(style: Style) -> Spec:
        return picture.draw(one, style, 0 if style.narrow else dots)  # a phone has no mouse

    return Markup(drawing.for_page(draw, f"{label}: {words}")), words  # noqa: S704 - shapes and text


def addresses_of(result: TrendResult, folder: Path) -> Mapping[str, str]:
    """Return the addresses of commits' web pages, by hash.

    They are known if the folder's repository has a commit of the history, and a remote on the web. A shallow
    clone has few commits; so one is enough.
    """
    web = git.web_address(folder)
    if web is None:
        return {}
    found: dict[str, str] = {}
    for history in result.histories:
        commits = {run.commit for run in history.runs if run.commit and git.HASH.fullmatch(run.commit)}
        if git.has_any(folder, commits):
            found |= {commit: f"{web}/commit/{commit}" for commit in commits}
    return found
