"""Parts and styles that charts share. Altair makes a chart's Vega-Lite spec, and vl-convert draws it."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt
import vl_convert
from markupsafe import Markup, escape

from ..judge.verdict import Judgement
from .names import LONGEST, break_name, clean, clean_all

Spec = dict[str, Any]
"""A Vega-Lite spec."""
Row = Mapping[str, Any]

_FEWEST_TICKS = 3
_GAP = 0.5
"""Minimum space between the texts of two rows, in font sizes."""
_NAMES = 0.75
"""Maximum fraction of a wide chart's width for names and values together."""
_MARKS = 1.8
"""Height of a row's marks in a narrow chart, where they are below the name; in font sizes."""

VERDICT_SHAPES = {
    "slower": "triangle-right",
    "faster": "triangle-left",
    "same": "circle",
    "undecided": "diamond",
    "incomparable": "cross",
    "accepted": "square",
    "ignored": "triangle-up",
}
"""Verdicts differ in shape as well as in colour."""


@dataclass(frozen=True)
class Style:
    """Colours in CSS syntax, sizes in pixels."""

    ink: str
    muted: str
    line: str
    paper: str
    band: str
    mark: str
    verdicts: tuple[str, ...]
    """Colours, in the order of VERDICT_SHAPES."""
    font_size: int
    width: int
    """Width of a chart, names and values included."""
    row: int
    """Minimum height of a row."""
    least_height: int
    """Minimum height of a chart with rows."""
    most_rows: int
    label_width: int
    """Maximum width of the names on the left."""
    ticks: int
    """Approximate maximum number of ticks on an axis."""
    margins: tuple[float, float]
    """The left and the right margin of a chart."""
    narrow: bool = False
    """Whether names are above the marks, because there is no room next to the marks."""

    @property
    def symbol(self) -> int:
        """Area of a mark, in square pixels."""
        return round(0.55 * self.font_size**2)

    @property
    def letter(self) -> float:
        """Average width of a letter in a wide browser font."""
        return 0.6 * self.font_size

    @property
    def line_height(self) -> float:
        return 1.2 * self.font_size


PAGE = Style(
    ink="var(--ink)",
    muted="var(--muted)",
    line="var(--line)",
    paper="var(--paper)",
    band="var(--band)",
    mark="var(--mark)",
    verdicts=tuple(f"var(--{name})" for name in VERDICT_SHAPES),
    font_size=14,
    width=1250,
    row=24,
    least_height=60,
    most_rows=60,
    label_width=400,
    ticks=8,
    margins=(5, 10),
)
PHONE = replace(PAGE, font_size=12, width=350, row=20, ticks=5, margins=(6, 6), narrow=True)
SLIDE = Style(
    ink="#111111",
    muted="#555555",
    line="#dddddd",
    paper="#ffffff",
    band="#e3e3e3",
    mark="#111111",
    verdicts=("#9a3000", "#0d5296", "#3c5145", "#6b5000", "#555555", "#5b2a86", "#6b6b6b"),
    font_size=24,
    width=1130,
    row=42,
    least_height=300,
    most_rows=11,
    label_width=540,
    ticks=6,
    margins=(5, 60),
)


def svg(spec: Spec) -> str:
    """Return a chart as an SVG document; unprintable characters in its texts are replaced."""
    return vl_convert.vegalite_to_svg(clean_all(spec))


def png(text: str) -> bytes:
    """Convert an SVG document to a PNG image, 1.5 times as large."""
    return vl_convert.svg_to_png(text, scale=1.5)


def for_page(draw: Callable[[Style], Spec], description: str) -> Markup:
    """Return markup with a chart in two widths; the style sheet shows the one that fits the window."""
    label = escape(clean(description, LONGEST))
    charts = (
        f'<div class="{name}" role="img" aria-label="{label}">{svg(draw(style))}</div>'
        for name, style in (("wide", PAGE), ("narrow", PHONE))
    )
    return Markup("".join(charts))  # noqa: S704 - svg() and escape() have escaped all texts


def config(style: Style) -> Spec:
    """Return Vega-Lite's configuration for a style."""
    return {
        "background": style.paper,
        "padding": {"left": style.margins[0], "top": 5, "bottom": 5, "right": style.margins[1]},
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
            "labelLimit": style.label_width,
        },
        "legend": {"disable": True},
        "text": {"fontSize": style.font_size, "lineHeight": style.line_height, "color": style.ink},
    }


def rows_of(rows: Iterable[Row]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=[dict(row) for row in rows]))


def log_axis(values: Sequence[float], style: Style) -> alt.Axis:
    """Return an axis for a log scale. Ticks are at 1, 2, 5, 10, ..., or evenly spaced in a short range."""
    low, high = min(values), max(values)
    first_power, last_power = (math.floor(math.log10(value)) for value in (low, high))
    ticks = [factor * 10.0**power for power in range(first_power, last_power + 1) for factor in (1, 2, 5)]
    visible = [tick for tick in ticks if low <= tick <= high]
    if len(visible) < _FEWEST_TICKS:
        visible = round_ticks(low, high, style.ticks)
    # With explicit values, Vega does not drop labels that it considers too close together.
    return alt.Axis(format="~g", labelOverlap=True, grid=not style.narrow, values=visible)


def verdict_fields(judgement: Judgement) -> dict[str, Any]:
    """Return the fields for `verdict_marks`. Undecided marks are pale, those without an interval hollow."""
    strength = 0.4 if judgement.verdict in ("undecided", "incomparable", "ignored") else 1.0
    return {"verdict": judgement.verdict, "sure": float(judgement.low is not None), "strength": strength}


def verdict_marks(rows: alt.Chart, x: alt.X, style: Style) -> alt.Chart:
    domain = [*VERDICT_SHAPES]
    shapes = alt.Scale(domain=domain, range=[*VERDICT_SHAPES.values()])
    colours = alt.Scale(domain=domain, range=[*style.verdicts])
    return rows.mark_point(size=style.symbol).encode(
        x=x,
        shape=alt.Shape("verdict:N", scale=shapes),
        stroke=alt.Stroke("verdict:N", scale=colours),
        fill=alt.Fill("verdict:N", scale=colours),
        fillOpacity=alt.FillOpacity("sure:Q", scale=None),
        opacity=alt.Opacity("strength:Q", scale=None),
    )


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Return evenly spaced round numbers from `low` to `high`, no more than about `most`."""
    if low == high:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(factor * power for factor in (1, 2, 5, 10) if (high - low) / (factor * power) <= most)
    return [round(step * number, 12) for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


class Rows:
    """Rows of equal height, each with name, marks and value. A narrow chart has the marks below the texts."""

    def __init__(self, names: Sequence[str], values: Sequence[str], style: Style) -> None:
        """Compute the positions of texts and marks. The marks' data must have the row number as `row`."""
        self._style = style
        value_width = self._width(values)
        share = 1.0 if style.narrow else _NAMES
        name_width = min(style.label_width, share * style.width - value_width)
        lines = [break_name(name, int(name_width / style.letter)) for name in names]
        self._left = 0.0 if style.narrow else self._width(line for name in lines for line in name)
        self.width = style.width if style.narrow else style.width - value_width - self._left
        """Width of the area with the marks."""
        text_height = max(map(len, lines)) * style.line_height
        marks_height = _MARKS * style.font_size if style.narrow else 0.0
        needed = text_height + marks_height + _GAP * style.font_size
        height = max(needed, style.row, style.least_height / len(lines))
        self.height = round(height * len(lines))
        # From here on, the unit is the height of a row, and 0 is the middle of the first row's marks.
        top = 0.5 + text_height / height / 2 if style.narrow else 0.5
        self._domain = [-top, len(lines) - top]
        self.reach = marks_height / height / 2 if style.narrow else 0.5
        """Distance from the middle of the marks to their ends."""
        self._texts = []
        for row, (name, value) in enumerate(zip(lines, values, strict=True)):
            name_height = len(name) * style.line_height
            middle = marks_height / 2 + name_height if style.narrow else name_height / 2
            first_line = row - (middle - style.line_height / 2) / height
            fields = {"row": row, "first_line": first_line, "value_line": first_line if style.narrow else row}
            self._texts.append({"name": "\n".join(name), "value": value, **fields})

    def y(self, field: str = "row") -> alt.Y:
        """Return the vertical axis for a field; it is invisible, but reserves space for the names."""
        return alt.Y(
            f"{field}:Q",
            scale=alt.Scale(domain=self._domain, reverse=True, nice=False, zero=False),
            axis=alt.Axis(
                labels=False, ticks=False, domain=False, grid=False, title=None, minExtent=self._left
            ),
        )

    def chart(self, *layers: alt.Chart) -> Spec:
        """Return the chart of these layers, with names, values, and a thin line along each row."""
        style = self._style
        base = rows_of(self._texts)
        lines = base.mark_rule(color=style.line).encode(x=alt.value(0), x2=alt.value(self.width), y=self.y())
        gap = 0 if style.narrow else style.font_size / 2
        names = base.mark_text(align="left" if style.narrow else "right", dx=-gap, lineBreak="\n").encode(
            x=alt.value(0), y=self.y("first_line"), text="name:N"
        )
        values = base.mark_text(align="right" if style.narrow else "left", dx=gap).encode(
            x=alt.value(self.width), y=self.y("value_line"), text="value:N"
        )
        chart = alt.layer(lines, *layers, names, values).properties(width=self.width, height=self.height)
        return {**chart.to_dict(), "config": config(style)}

    def _width(self, texts: Iterable[str]) -> float:
        """Return the width of the longest text plus its distance from the marks. 0 if all texts are empty."""
        longest = max(map(len, texts), default=0)
        return longest * self._style.letter + self._style.font_size if longest else 0.0
