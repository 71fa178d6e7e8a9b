"""The page of `gnnbench trend`, and the chart of a series on it."""

import json
import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from .. import units
from ..compare.trend.history import Array
from ..compare.trend.result import JudgedSeries, TrendResult
from ..compare.trend.steps import SHORTEST_SERIES
from . import drawing, page, trend
from .charts.common import Spec, finished, rows_of
from .names import spec_of, titles
from .style import Style

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
        trend=trend,
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
    words = "; ".join(
        f"{trend.moved(step)} at {trend.place(step)}, {trend.level(step)}" for step in one.steps
    )
    return drawing.for_page(partial(draw, one), f"{label}: {words}"), words


_HEIGHT = 200
"""Pixels."""
_OUTSIDE = 0.02
"""Share of runs at each end that may be outside of the chart; they are drawn at its edge."""
_MARGIN = 0.1
"""Margin of the chart, as a fraction of the range."""
_LEAST_MARGIN = 0.01
"""Least margin, as a fraction of the time."""
_DAY = 10
"""Characters of a date, as in 2026-04-01."""


def draw(one: JudgedSeries, style: Style) -> Spec:
    """Return the chart of a series, over its runs."""
    divisor_seconds, unit = units.scale(math.exp(float(np.median(one.series.logs))) / 1e9)
    values = np.exp(one.series.logs) / 1e9 / divisor_seconds
    runs = one.series.runs
    times = [
        {"run": int(run) + 1, "time": round(float(time), 6)} for run, time in zip(runs, values, strict=True)
    ]
    steps = sorted(step.at for step in (*one.steps, *one.small))
    stretches = [slice(*edges) for edges in pairwise([0, *np.searchsorted(runs, steps), len(runs)])]
    levels = [
        {"run": int(runs[place]) + 1, "level": round(float(np.median(values[part])), 6)}
        for part in stretches
        for place in (part.start, part.stop - 1)
    ]
    ranges = [{"first": step.first + 0.5, "last": step.last + 1.5} for step in one.steps]
    last = len(one.history.runs)
    x = alt.X(
        "run:Q", title=None, scale=alt.Scale(domain=[0.5, last + 0.5], nice=False), axis=_dates(one, style)
    )
    edges = _edges(values, [row["level"] for row in levels])
    y = alt.Y("time:Q", title=f"time of a call, {unit}", scale=alt.Scale(domain=edges, clamp=True))
    layers = [
        rows_of(ranges).mark_rect(color=style.band).encode(x="first:Q", x2="last:Q"),
        rows_of(times).mark_line(color=style.muted, strokeWidth=0.8, opacity=0.8).encode(x=x, y=y),
        rows_of(levels).mark_line(color=style.mark, strokeWidth=style.font_size / 6).encode(x=x, y="level:Q"),
    ]
    return {**finished(layers, style), "height": _HEIGHT}


def _dates(one: JudgedSeries, style: Style) -> Any:
    """Return the axis of runs: at some of them its date and number."""
    dates = [one.history.date(run) for run in range(len(one.history.runs))]
    days = {date[:_DAY] for date in dates}
    width = style.letter * _DAY
    most = min(style.ticks, int(style.width / (1.3 * width)), len(dates))
    labels = {
        run + 1: [dates[run][:_DAY] if len(days) > 1 else dates[run][11:16], f"run {run + 1}"]
        for run in np.linspace(0, len(dates) - 1, most).round().astype(int).tolist()
    }
    names = json.dumps(labels)  # dates and numbers only
    return alt.Axis(
        values=list(labels), labelExpr=f"({names})[datum.value]", labelFlush=width / 2, grid=False
    )


def _edges(values: Array, levels: list[float]) -> list[float]:
    """Return the range of times, without outliers, which would compress the others."""
    low, high = (float(edge) for edge in np.quantile(values, (_OUTSIDE, 1 - _OUTSIDE)))
    low, high = min(low, *levels), max(high, *levels)
    margin = max(_MARGIN * (high - low), _LEAST_MARGIN * high)
    return [low - margin, high + margin]
