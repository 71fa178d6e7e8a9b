"""The chart of a series: the time of each run, the level, and the 95 % ranges of changes."""

import json
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import units
from ...compare.trend.result import JudgedSeries
from ..charts.common import Spec, finished, rows_of
from ..drawing import HOVER
from . import commits, table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..style import Style

_HEIGHT = 200
"""Pixels."""
_OUTSIDE = 0.02
"""Share of runs at each end that may be outside of the chart; they are drawn at its edge."""
_MARGIN = 0.1
"""Margin of the chart, as a fraction of the range."""
_LEAST_MARGIN = 0.01
"""Least margin, as a fraction of the time."""
_RANGE = (0.025, 0.975)
_DAY = 10
"""Characters of a date, as in 2026-04-01."""


def draw(one: JudgedSeries, style: "Style", points: int) -> Spec:
    """Return the chart of a series, over its runs.

    Args:
        one: the series.
        style: the style.
        points: most runs with a dot that says more about them; evenly spaced, with those that changed.
    """
    import altair as alt

    divisor_seconds, unit = units.scale(math.exp(float(np.median(one.series.logs))) / 1e9)
    scale = divisor_seconds * 1e9
    runs = one.series.runs + 1
    values = np.exp(one.series.logs) / scale
    times = [{"run": int(run), "time": round(float(time), 6)} for run, time in zip(runs, values, strict=True)]
    usual = _usual(one)
    dots = [{**times[place], "text": _said(one, place, usual[place])} for place in _dotted(one, points)]
    levels = [{"run": run, "level": round(level / scale, 6)} for run, level in _levels(one)]
    ranges = [
        {"first": one.run(change.first) + 0.5, "last": one.run(change.last) + 1.5}
        for change in one.findings
        if change.kind != "drift"
    ]
    last = len(one.history.runs)
    x = alt.X(
        "run:Q", title=None, scale=alt.Scale(domain=[0.5, last + 0.5], nice=False), axis=_dates(one, style)
    )
    edges = _edges(values, [row["level"] for row in levels])
    y = alt.Y("time:Q", title=f"time of a call, {unit}", scale=alt.Scale(domain=edges, clamp=True))
    layers = [
        rows_of(ranges).mark_rect(color=style.band).encode(x=alt.X("first:Q"), x2="last:Q"),
        rows_of(times).mark_line(color=style.muted, strokeWidth=0.8, opacity=0.8).encode(x=x, y=y),
        rows_of(levels).mark_line(color=style.mark, strokeWidth=style.font_size / 6).encode(x=x, y="level:Q"),
        # The invisible edge makes a dot easier to point at.
        rows_of(dots)
        .mark_point(
            filled=True,
            size=14,
            opacity=1,
            color=style.mark,
            stroke=style.mark,
            strokeWidth=9,
            strokeOpacity=0,
        )
        .encode(x=x, y=y, description="text:N")
        .properties(name=HOVER),
    ]
    spec: dict[str, Any] = finished(layers, style)
    return {**spec, "height": _HEIGHT}


def _said(one: JudgedSeries, place: int, usual: str) -> str:
    """Return what is known about a run: its number, date, commit, time and usual times, and what changed."""
    run = one.run(place)
    found = one.history.runs[run]
    when = one.history.date(found)[:16].replace("T", " ")
    commit = f", commit {commits.name(found)}" if found.commit else ""
    lines = [f"run {run + 1}, {when}{commit}", f"{_time(one.series.logs[place])}; {usual}"]
    for change in one.findings:
        if change.at == place:
            ratio = f"{units.ratio(change.ratio, changed=True)} ({units.interval(change.low, change.high)})"
            lines.append(f"{table.word(change)} {ratio}")
    return "\n".join(lines)


def _usual(one: JudgedSeries) -> list[str]:
    """Return for each run the 95 % range of the runs between the changes around it."""
    length = len(one.series.runs)
    changes = [change for change in (*one.findings, *one.small) if change.kind != "spread"]
    starts = {change.at for change in changes} | {
        change.first for change in changes if change.kind == "drift"
    }
    edges = sorted({0, length, *starts})
    found: list[str] = []
    for start, end in pairwise(edges):
        low, high = np.quantile(one.series.logs[start:end], _RANGE)
        runs = f"{one.run(start) + 1}-{one.run(end - 1) + 1}"
        found += [f"95% of runs {runs}: {_time(low)} to {_time(high)}"] * (end - start)
    return found


def _time(log: float) -> str:
    return units.seconds(math.exp(log) / 1e9)


def _dotted(one: JudgedSeries, most: int) -> list[int]:
    """Return the places of the runs with a dot, ascending."""
    length = len(one.series.runs)
    spaced = np.linspace(0, length - 1, min(most, length)).astype(int).tolist()
    return sorted({*spaced, *(change.at for change in one.findings)})


def _dates(one: JudgedSeries, style: "Style") -> Any:
    """Return the axis of runs: at some of them its date and number."""
    import altair as alt

    runs = one.history.runs
    days = {one.history.date(run)[:_DAY] for run in runs}
    labels: dict[int, list[str]] = {}
    width = style.letter * _DAY
    most = min(style.ticks, int(style.width / (1.3 * width)), len(runs))
    for number in np.linspace(0, len(runs) - 1, most).round().astype(int).tolist():
        date = one.history.date(runs[number])
        labels[number + 1] = [date[:_DAY] if len(days) > 1 else date[11:16], f"run {number + 1}"]
    names = json.dumps(labels)  # dates and numbers only
    return alt.Axis(
        values=list(labels),
        labelExpr=f"({names})[datum.value]",
        labelFlush=style.letter * _DAY / 2,
        grid=False,
    )


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
