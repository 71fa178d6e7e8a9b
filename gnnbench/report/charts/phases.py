"""The chart of a breakdown."""

from collections.abc import Sequence
from itertools import pairwise

from ... import units
from ..style import FILLS, Style
from ..view import Breakdown, BreakdownPart
from .common import Spec, distinct, finished, rows_of, scale


def chart(found: Breakdown, style: Style) -> Spec:
    """Return the chart: one stacked column of ranges for each platform."""
    import altair as alt

    height = style.row * 16
    longest = max(bar.seconds for bar in found.bars) or 1.0
    divisor, unit = units.scale(longest)
    legible = longest * 1.25 * style.font_size / height
    rows, tops = [], []
    columns = [stacked(bar.parts, bar.rest_seconds, legible) for bar in found.bars]
    fills = _fills([[name for name, _ in column] for column in columns])
    labels = distinct(bar.label for bar in found.bars)
    for label, bar, column in zip(labels, found.bars, columns, strict=True):
        start = 0.0
        for name, seconds in column:
            end = start + seconds
            rows.append(
                {
                    "bar": label,
                    "start": start / divisor,
                    "end": end / divisor,
                    "middle": (start + end) / 2 / divisor,
                    "fill": str(fills[name]),
                    "text": f"{name} {units.seconds(seconds)}" if seconds >= legible else "",
                }
            )
            start = end
        tops.append({"bar": label, "end": start / divisor, "text": units.seconds(bar.seconds)})
    x = alt.X(
        "bar:N",
        title=None,
        sort=[str(row["bar"]) for row in tops],
        axis=alt.Axis(labelAngle=0, domain=False, ticks=False),
        scale=alt.Scale(paddingInner=0.08, paddingOuter=0.04),
    )
    y = alt.Y("start:Q", title=f"time of a call, {unit}", axis=alt.Axis(grid=False, tickCount=6))
    fill = alt.Fill("fill:N", legend=None, scale=scale(list(map(str, range(FILLS))), style.fills))
    areas, totals = rows_of(rows), rows_of(tops)
    layers = (
        areas.mark_bar(stroke=style.paper, strokeWidth=1.5).encode(x=x, y=y, y2="end:Q", fill=fill),
        areas.mark_text(baseline="middle").encode(x=x, y=alt.Y("middle:Q"), text="text:N"),
        totals.mark_text(baseline="bottom", dy=-style.font_size / 3, fontWeight="bold").encode(
            x=x, y=alt.Y("end:Q"), text="text:N"
        ),
    )
    spec = finished(layers, style)
    spec["width"], spec["height"] = min(len(tops), 6) * style.font_size * 15, height
    return spec


def stacked(parts: Sequence[BreakdownPart], rest_seconds: float, least: float) -> list[tuple[str, float]]:
    """Return name and self time of each range; those shorter than `least` are added to the rest.

    The sum is the time of the whole call, in seconds.
    """
    found: dict[str, float] = {}
    for part in parts:
        found[part.name] = found.get(part.name, 0.0) + part.self_seconds
    shown = [(name, seconds) for name, seconds in found.items() if seconds >= least]
    rest = rest_seconds + sum(seconds for seconds in found.values() if seconds < least)
    return [*shown, ("the rest", rest)]


def _fills(columns: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return the fill of each name; adjacent areas have different fills if possible."""
    beside: dict[str, set[str]] = {}
    for column in columns:
        for one, other in pairwise(column):
            beside.setdefault(one, set()).add(other)
            beside.setdefault(other, set()).add(one)
    fills: dict[str, int] = {}
    for name in dict.fromkeys(name for column in columns for name in column):
        taken = {fills[other] for other in beside.get(name, ()) if other in fills}
        free = [fill for fill in range(FILLS) if fill not in taken]
        fills[name] = free[0] if free else len(fills) % FILLS
    return fills
