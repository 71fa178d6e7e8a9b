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


def log_axis(values: Sequence[float], style: Style) -> "alt.Axis":
    """Return an axis for a log scale, with ticks at 1, 2, 5, 10, ... or evenly spaced in a short range."""
    import altair as alt

    low, high = min(values), max(values)
    first, last = (math.floor(math.log10(value)) for value in (low, high))
    ticks = [one * 10.0**power for power in range(first, last + 1) for one in (1, 2, 5)]
    shown = [tick for tick in ticks if low <= tick <= high]
    if len(shown) < _FEWEST_TICKS:
        shown = _even(low, high, style.ticks)
    # Without values, Vega leaves out labels that it thinks are too close.
    return alt.Axis(format="~g", labelOverlap=True, grid=not style.narrow, values=shown)


def _even(low: float, high: float, most: int) -> list[float]:
    """Return about so many round numbers in a range, at most."""
    if low == high:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(one * power for one in (1, 2, 5, 10) if (high - low) / (one * power) <= most)
    return [round(step * number, 12) for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def finished(layers: "Iterable[alt.Chart]", style: Style) -> Spec:
    """Return the spec of layers on top of each other, from the lowest to the topmost."""
    import altair as alt

    spec: Spec = alt.layer(*layers).properties(width=style.width).to_dict()
    return {**spec, "config": style.config()}
