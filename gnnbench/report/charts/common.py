"""Common parts of charts: axes, scales, sizes. Charts are Vega-Lite specs made with altair."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..style import Style

if TYPE_CHECKING:
    import altair as alt

Spec = dict[str, Any]
"""A Vega-Lite spec, drawn by `gnnbench.report.drawing` or a browser."""
Row = Mapping[str, Any]

_FEWEST_TICKS = 3


def rows_of(rows: Iterable[Row]) -> "alt.Chart":
    """Return a chart of these rows, without marks."""
    import altair as alt

    return alt.Chart(alt.InlineData(values=[dict(row) for row in rows]))


def names(labels: Sequence[str], style: Style) -> "alt.Y":
    """Return the axis of names, from the top; the labels must be distinct."""
    import altair as alt

    # Letters may be 20 % wider in a browser than in the layout.
    longest = max(map(len, labels), default=0)
    width = min(1.2 * style.label_width, 0.72 * style.font_size * longest)
    axis = alt.Axis(
        labelLimit=style.label_width,
        minExtent=width,
        ticks=False,
        domain=False,
        labelPadding=style.font_size / 2,
    )
    return alt.Y("label:N", title=None, sort=list(labels), axis=axis)


def scale(domain: Iterable[str], values: Iterable[str]) -> "alt.Scale":
    """Return the scale from names to values."""
    import altair as alt

    return alt.Scale(domain=list(domain), range=list(values))


def distinct(labels: Iterable[str]) -> list[str]:
    """Make labels distinct: number repeated ones."""
    seen: dict[str, int] = {}
    found = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        found.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return found


def log_axis(values: Sequence[float]) -> "alt.Axis":
    """Return an axis for a log scale, with ticks at 1, 2, 5, 10, ... if at least three are in range."""
    import altair as alt

    low, high = min(values), max(values)
    first, last = (math.floor(math.log10(value)) for value in (low, high))
    ticks = [one * 10.0**power for power in range(first, last + 1) for one in (1, 2, 5)]
    shown = [tick for tick in ticks if low <= tick <= high]
    named = {"values": shown} if len(shown) >= _FEWEST_TICKS else {"tickCount": 5}
    return alt.Axis(format="~g", labelOverlap=True, **named)


def finished(layers: "Iterable[alt.Chart]", style: Style, rows: int | None = None) -> Spec:
    """Return the spec of layers on top of each other.

    Args:
        layers: from the lowest to the topmost.
        style: the style.
        rows: number of named rows; None: the caller sets the height.
    """
    import altair as alt

    size = {"width": style.width, **({"height": max(rows * style.row, style.least_height)} if rows else {})}
    spec: Spec = alt.layer(*layers).properties(**size).to_dict()
    return {**spec, "config": style.config()}
