"""Charts: Vega-Lite specs made with altair, of which these are the parts, drawn without a browser."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import altair as alt
import vl_convert
from markupsafe import Markup, escape

from ..judge.verdict import Judgement
from .names import LONGEST, clean, cleaned, in_lines
from .style import VERDICT_SHAPES, Style

Spec = dict[str, Any]
"""A Vega-Lite spec."""

_FEWEST_TICKS = 3
_PALE = 0.4
"""Opacity of the marks of what is not decided."""
_GAP = 0.5
"""Least space between the texts of two rows, in font sizes."""
_NAMES = 0.75
"""Share of a chart's width that names and values may have together."""


def svg(spec: Spec) -> str:
    """Return a chart as the text of an SVG file, with its texts cleaned."""
    return vl_convert.vegalite_to_svg(cleaned(spec))


def png(text: str) -> bytes:
    """Return an SVG as the bytes of a PNG file, scaled by 1.5."""
    return vl_convert.svg_to_png(text, scale=1.5)


def for_page(spec: Spec, description: str) -> Markup:
    """Return the markup of a chart."""
    label = escape(clean(description, LONGEST))
    return Markup(f'<div role="img" aria-label="{label}">{svg(spec)}</div>')  # noqa: S704 - shapes and text


def config(style: Style) -> Spec:
    """Return Vega-Lite's configuration for a style."""
    return {
        "background": style.paper,
        "padding": style.margin,
        "font": "sans-serif",
        "view": {"stroke": None},
        "axis": {
            "labelColor": style.ink,
            "labelFontSize": style.font_size,
            "titleColor": style.ink,
            "titleFontSize": style.font_size,
            "titleFontWeight": "normal",
            "titlePadding": style.font_size * 0.7,
            "domainColor": style.muted,
            "tickColor": style.muted,
            "gridColor": style.line,
            "labelLimit": 0,
        },
        "legend": {"disable": True},
        "text": {"fontSize": style.font_size, "lineHeight": style.line_height, "color": style.ink},
    }


def rows_of(rows: Iterable[Mapping[str, Any]]) -> alt.Chart:
    """Return a chart of these rows, without marks."""
    return alt.Chart(alt.InlineData(values=[dict(row) for row in rows]))


def log_axis(values: Sequence[float], style: Style) -> alt.Axis:
    """Return an axis for a log scale, with ticks at 1, 2, 5, 10, ... or evenly spaced in a short range."""
    low, high = min(values), max(values)
    first, last = (math.floor(math.log10(value)) for value in (low, high))
    ticks = [factor * 10.0**power for power in range(first, last + 1) for factor in (1, 2, 5)]
    shown = [tick for tick in ticks if low <= tick <= high]
    if len(shown) < _FEWEST_TICKS:
        shown = even_ticks(low, high, style.ticks)
    # Without values, Vega leaves out labels that it thinks are too close.
    return alt.Axis(format="~g", labelOverlap=True, values=shown)


def verdict_fields(judgement: Judgement) -> dict[str, Any]:
    """Return what `verdict_marks` shows: what is not decided is pale, what has no interval is hollow."""
    strength = _PALE if judgement.verdict in ("undecided", "incomparable", "ignored") else 1.0
    return {"verdict": judgement.verdict, "sure": float(judgement.low is not None), "strength": strength}


def verdict_marks(rows: alt.Chart, x: alt.X, style: Style) -> alt.Chart:
    """Return a mark for each row with `verdict_fields`, of the shape and colour of its verdict."""
    shapes, colours = (
        alt.Scale(domain=[*VERDICT_SHAPES], range=[*marks])
        for marks in (VERDICT_SHAPES.values(), style.verdicts)
    )
    return rows.mark_point(size=style.symbol).encode(
        x=x,
        shape=alt.Shape("verdict:N", scale=shapes),
        stroke=alt.Stroke("verdict:N", scale=colours),
        fill=alt.Fill("verdict:N", scale=colours),
        fillOpacity=alt.FillOpacity("sure:Q", scale=None),
        opacity=alt.Opacity("strength:Q", scale=None),
    )


def even_ticks(low: float, high: float, most: int) -> list[float]:
    """Return about so many round numbers in a range, at most."""
    if low == high:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(factor * power for factor in (1, 2, 5, 10) if (high - low) / (factor * power) <= most)
    return [round(step * number, 12) for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


class Rows:
    """Rows of one height: names at the left, marks, and values at the right."""

    def __init__(self, names: Sequence[str], values: Sequence[str], style: Style) -> None:
        """Place the rows; the field `row` of data is a row's number."""
        beside = _width(values, style)
        room = min(style.label_width, _NAMES * style.whole - beside)
        lines = [in_lines(name, int(room / style.letter)) for name in names]
        self._names, self._values, self._style = lines, values, style
        left = _width(chain(*lines), style)
        self._width = style.whole - beside - left
        text = max(map(len, lines)) * style.line_height + _GAP * style.font_size
        self._height = max(text, style.row, style.least_height / len(lines))
        up = [
            {"test": f"length(names[datum.value]) == {count}", "value": (1 - count) * style.line_height / 2}
            for count in {*map(len, lines)}
        ]
        self.y = alt.Y(
            "row:N",
            scale=alt.Scale(domain=list(range(len(lines)))),
            title=None,
            axis=alt.Axis(
                domain=False,
                ticks=False,
                grid=True,
                labelExpr="names[datum.value]",
                labelLineHeight=style.line_height,
                labelOffset={"condition": up, "value": 0},
                labelPadding=style.font_size / 2,
                minExtent=left,  # fonts of browsers may be wider than those with which it is drawn
            ),
        )
        """The vertical axis, which shows the names."""

    def chart(self, *layers: alt.Chart) -> Spec:
        """Return the chart of these layers, with names, values, and lines that lead to the marks."""
        beside = rows_of({"row": row, "value": value} for row, value in enumerate(self._values))
        values = beside.mark_text(align="left", dx=self._style.font_size / 2).encode(
            x=alt.value(self._width), y=self.y, text="value:N"
        )
        drawn = alt.layer(*layers, values).properties(width=self._width, height=alt.Step(self._height))
        names = {"name": "names", "value": self._names}
        return {**drawn.to_dict(), "params": [names], "config": config(self._style)}


def _width(texts: Iterable[str], style: Style) -> float:
    """Return the width of the widest text and its distance from the marks."""
    longest = max(map(len, texts), default=0)
    return longest * style.letter + style.font_size if longest else 0.0
