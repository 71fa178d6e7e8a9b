"""Common parts of charts: axes, scales, named rows. Charts are Vega-Lite specs made with altair."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from ...judge.verdict import Judgement
from ..names import in_lines
from ..style import VERDICT_SHAPES, Style

Spec = dict[str, Any]
"""A Vega-Lite spec, drawn by `gnnbench.engine.show.drawing`."""
Row = Mapping[str, Any]

_FEWEST_TICKS = 3
_PALE = 0.4
"""Opacity of the marks of what is not decided."""
_GAP = 0.5
"""Least space between the texts of two rows, in font sizes."""
_NAMES = 0.75
"""Share of a chart's width that names and values may have together."""
_MARKS = 1.8
"""Height of the marks below a name, in font sizes."""


def config(style: Style) -> Spec:
    """Return Vega-Lite's configuration for a style."""
    text = {"labelColor": style.ink, "titleColor": style.ink, "labelFontSize": style.font_size}
    return {
        "background": None if style.page else style.paper,
        "padding": {"left": style.margins[0], "top": 5, "bottom": 5, "right": style.margins[1]},
        "font": "sans-serif",
        "view": {"stroke": None},
        "axis": {
            **text,
            "titleFontSize": style.font_size,
            "titleFontWeight": "normal",
            "titlePadding": style.font_size * 0.7,
            "domainColor": style.muted,
            "tickColor": style.muted,
            "gridColor": style.line,
            "labelLimit": style.label_width,
        },
        "legend": {
            **text,
            "titleFontSize": style.font_size,
            "orient": "top",
            "symbolSize": style.symbol * 1.4,
        },
        "text": {"fontSize": style.font_size, "lineHeight": style.line_height, "color": style.ink},
        "title": {"color": style.ink, "anchor": "start", "frame": "bounds"},
    }


def rows_of(rows: Iterable[Row]) -> alt.Chart:
    """Return a chart of these rows, without marks."""
    return alt.Chart(alt.InlineData(values=[dict(row) for row in rows]))


def scale(domain: Iterable[str], values: Iterable[str]) -> alt.Scale:
    """Return the scale from names to values."""
    return alt.Scale(domain=list(domain), range=list(values))


def log_axis(values: Sequence[float], style: Style) -> alt.Axis:
    """Return an axis for a log scale, with ticks at 1, 2, 5, 10, ... or evenly spaced in a short range."""
    low, high = min(values), max(values)
    first, last = (math.floor(math.log10(value)) for value in (low, high))
    ticks = [one * 10.0**power for power in range(first, last + 1) for one in (1, 2, 5)]
    shown = [tick for tick in ticks if low <= tick <= high]
    if len(shown) < _FEWEST_TICKS:
        shown = even_ticks(low, high, style.ticks)
    # Without values, Vega leaves out labels that it thinks are too close.
    return alt.Axis(format="~g", labelOverlap=True, grid=not style.narrow, values=shown)


def log_x(field: str, values: Sequence[float], title: str, style: Style) -> alt.X:
    """Return a horizontal log scale that has room beside the values."""
    room = alt.Scale(type="log", nice=False, padding=style.font_size)
    return alt.X(f"{field}:Q", scale=room, axis=log_axis(values, style), title=f"{title} (log scale)")


def verdict_fields(found: Judgement) -> dict[str, Any]:
    """Return what `verdict_marks` shows: what is not decided is pale, what has no interval is hollow."""
    strength = _PALE if found.verdict in ("undecided", "incomparable", "ignored") else 1.0
    return {"verdict": found.verdict, "sure": float(found.low is not None), "strength": strength}


def verdict_marks(rows: alt.Chart, x: alt.X, style: Style) -> alt.Chart:
    """Return a mark for each row with `verdict_fields`, of the shape and colour of its verdict."""
    shapes, colours = (scale(VERDICT_SHAPES, one) for one in (VERDICT_SHAPES.values(), style.verdicts))
    return rows.mark_point(size=style.symbol).encode(
        x=x,
        shape=alt.Shape("verdict:N", legend=None, scale=shapes),
        stroke=alt.Stroke("verdict:N", legend=None, scale=colours),
        fill=alt.Fill("verdict:N", legend=None, scale=colours),
        fillOpacity=alt.FillOpacity("sure:Q", legend=None, scale=None),
        opacity=alt.Opacity("strength:Q", legend=None, scale=None),
    )


def even_ticks(low: float, high: float, most: int) -> list[float]:
    """Return about so many round numbers in a range, at most."""
    if low == high:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(one * power for one in (1, 2, 5, 10) if (high - low) / (one * power) <= most)
    return [round(step * number, 12) for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


class Rows:
    """Places of names, marks and values, in pixels: beside each other, or above in a narrow chart."""

    def __init__(self, names: Sequence[str], values: Sequence[str], style: Style) -> None:
        """Place the rows."""
        self._style = style
        beside = self._width(values)
        room = style.whole - beside if style.narrow else min(style.label_width, _NAMES * style.whole - beside)
        lines = [in_lines(name, int(room / style.letter)) for name in names]
        self._left = 0.0 if style.narrow else self._width(line for name in lines for line in name)
        self.width = style.whole - self._left - (0 if style.narrow else beside)
        """Width between the axes."""
        heights = [self._height(name) for name in lines]
        stretch = max(style.least_height / sum(heights), 1.0)
        self.height = 0
        self._places: list[dict[str, Any]] = []
        for name, value, height in zip(lines, values, heights, strict=True):
            bottom = round(self.height + stretch * height)
            text = {"name": "\n".join(name), "value": value}
            self._places.append(text | self._placed(len(name), self.height, bottom))
            self.height = bottom

    def row(self, number: int) -> dict[str, Any]:
        """Return the fields of a row's data that say where it is: its middle `y`, its `top` and `bottom`."""
        return {key: self._places[number][key] for key in ("y", "top", "bottom")}

    def y(self, field: str = "y") -> alt.Y:
        """Return the vertical axis, which shows nothing but keeps room for the names."""
        return alt.Y(
            f"{field}:Q",
            scale=alt.Scale(domain=[0, self.height], reverse=True, nice=False, zero=False),
            axis=alt.Axis(
                labels=False, ticks=False, domain=False, grid=False, title=None, minExtent=self._left
            ),
        )

    def chart(self, *layers: alt.Chart) -> Spec:
        """Return the chart of these layers, with names, values, and lines that lead to the marks."""
        style = self._style
        base = rows_of(self._places)
        lines = base.mark_rule(color=style.line).encode(x=alt.value(0), x2=alt.value(self.width), y=self.y())
        apart = 0 if style.narrow else style.font_size / 2
        names = base.mark_text(align="left" if style.narrow else "right", dx=-apart, lineBreak="\n").encode(
            x=alt.value(0), y=self.y("name_y"), text="name:N"
        )
        values = base.mark_text(align="right" if style.narrow else "left", dx=apart).encode(
            x=alt.value(self.width), y=self.y("value_y"), text="value:N"
        )
        drawn = alt.layer(lines, *layers, names, values).properties(width=self.width, height=self.height)
        return {**drawn.to_dict(), "config": config(style)}

    def _height(self, name: Sequence[str]) -> float:
        """Return the least height of a row."""
        style = self._style
        lines = len(name) * style.line_height + _GAP * style.font_size
        return lines + _MARKS * style.font_size if style.narrow else max(lines, style.row)

    def _placed(self, lines: int, top: int, bottom: int) -> dict[str, float]:
        """Return where the parts of a row are."""
        style = self._style
        text = lines * style.line_height
        marks = _MARKS * style.font_size if style.narrow else 0.0
        start = (top + bottom - text - marks) / 2
        first = start + style.line_height / 2
        upper, lower = (start + text, start + text + marks) if style.narrow else (top, bottom)
        middle = (upper + lower) / 2
        value = first if style.narrow else middle
        return {"name_y": first, "value_y": value, "y": middle, "top": upper, "bottom": lower}

    def _width(self, texts: Iterable[str]) -> float:
        """Return the width of the widest text and its distance from the marks."""
        longest = max(map(len, texts), default=0)
        return longest * self._style.letter + self._style.font_size if longest else 0.0
