"""The chart of a series: the time of each run, the level, and the 95 % ranges of changes."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import units
from ...compare.trend.result import JudgedSeries
from ..charts.common import Spec, finished, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..style import Style

_HEIGHT = 170
"""Pixels."""
_OUTSIDE = 0.02
"""Share of runs at each end that may be outside of the chart; they are drawn at its edge."""
_MARGIN = 0.1
"""Margin of the chart, as a fraction of the range."""
_LEAST_MARGIN = 0.01
"""Least margin, as a fraction of the time."""


def draw(one: JudgedSeries, style: "Style") -> Spec:
    """Return the chart of a series, over the numbers of its runs, from 1."""
    import altair as alt

    divisor_seconds, unit = units.scale(math.exp(float(np.median(one.series.logs))) / 1e9)
    scale = divisor_seconds * 1e9
    runs = one.series.runs + 1
    values = np.exp(one.series.logs) / scale
    times = [{"run": int(run), "time": round(float(time), 6)} for run, time in zip(runs, values, strict=True)]
    levels = [{"run": run, "level": round(level / scale, 6)} for run, level in _levels(one)]
    ranges = [
        {"first": one.run(change.first) + 0.5, "last": one.run(change.last) + 1.5}
        for change in one.findings
        if change.kind != "drift"
    ]
    last = len(one.history.runs)
    x = alt.X(
        "run:Q", title="run", scale=alt.Scale(domain=[0.5, last + 0.5], nice=False), axis=alt.Axis(format="d")
    )
    edges = _edges(values, [row["level"] for row in levels])
    y = alt.Y("time:Q", title=f"time of a call, {unit}", scale=alt.Scale(domain=edges, clamp=True))
    layers = (
        rows_of(ranges).mark_rect(color=style.band).encode(x=alt.X("first:Q"), x2="last:Q"),
        rows_of(times).mark_line(color=style.muted, strokeWidth=0.8, opacity=0.8).encode(x=x, y=y),
        rows_of(levels).mark_line(color=style.mark, strokeWidth=style.font_size / 6).encode(x=x, y="level:Q"),
    )
    spec: dict[str, Any] = finished(layers, style)
    return {**spec, "height": _HEIGHT}


def _edges(values: "NDArray[np.float64]", levels: list[float]) -> list[float]:
    """Return the range of times, without outliers, which would compress the others."""
    low, high = (float(edge) for edge in np.quantile(values, (_OUTSIDE, 1 - _OUTSIDE)))
    low, high = min(low, *levels), max(high, *levels)
    margin = max(_MARGIN * (high - low), _LEAST_MARGIN * high)
    return [low - margin, high + margin]


def _levels(one: JudgedSeries) -> list[tuple[int, float]]:
    """Return the corners of the level's line: number of the run, from 1, and nanoseconds."""
    changes = sorted(
        (change for change in (*one.findings, *one.small) if change.kind != "spread"),
        key=lambda change: change.at,
    )
    runs = one.series.runs
    if not changes:
        median = math.exp(float(np.median(one.series.logs)))
        return [(int(runs[0]) + 1, median), (int(runs[-1]) + 1, median)]
    corners = [(int(runs[0]) + 1, changes[0].before)]
    for change in changes:
        before = change.first if change.kind == "drift" else change.at - 1
        corners.extend(((one.run(before) + 1, change.before), (one.run(change.at) + 1, change.after)))
    return [*corners, (int(runs[-1]) + 1, changes[-1].after)]
