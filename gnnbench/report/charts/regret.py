"""A map of a call's regret: width by degree, the fastest way as colour, the regret as intensity."""

import math
from collections.abc import Sequence

import altair as alt

from ..style import Style
from .common import Row, Spec, rows_of, scale

COLOURS = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00", "#0072b2", "#999999")
"""Distinct for colour-blind readers (Okabe and Ito, Color Universal Design, 2008)."""
LETTERS = "ABCDEFGH"
_FULL = 4.0
"""The regret from which on a colour is full."""
_TENS = 9.95
"""The regret from which on a whole number is shown."""
_PALE, _STRONG = 0.25, 0.9
"""Opacity without regret, and at _FULL."""


def chart(cells: Sequence[Row], ways: Sequence[str], style: Style) -> Spec:
    """Return the map, a part for each kind of graph.

    Args:
        cells: `kind` of graph, `degree` and `hidden` as texts in order, `way`, whether it `is_decided`, and
            `regret`, a ratio.
        ways: the fastest ways, the commonest first; of more than eight, the last have no cell.
        style: the style.
    """
    shown = [
        {
            **cell,
            "legend": f"{letter}  {cell['way']}",
            "text": f"{letter}{' ' if cell['is_decided'] else '?'}{_ratio(cell['regret'])}",
            "opacity": _PALE
            + (_STRONG - _PALE) * min(math.log(max(cell["regret"], 1.0)) / math.log(_FULL), 1.0),
        }
        for cell in cells
        if cell["way"] in ways[: len(LETTERS)]
        for letter in LETTERS[ways.index(cell["way"])]
    ]
    legends = [f"{letter}  {way}" for letter, way in zip(LETTERS, ways, strict=False)]
    kinds = list(dict.fromkeys(cell["kind"] for cell in shown))
    size = style.whole / max(len(kinds), 1) - 4 * style.font_size
    small = round(0.7 * style.font_size)
    parts = []
    for kind in kinds:
        own = [cell for cell in shown if cell["kind"] == kind]
        orders = {
            axis: sorted({cell[axis] for cell in own}, key=float, reverse=axis == "hidden")
            for axis in ("degree", "hidden")
        }
        base = rows_of(own).encode(
            x=alt.X("degree:O", sort=orders["degree"], title="mean degree", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("hidden:O", sort=orders["hidden"], title="width" if kind == kinds[0] else None),
        )
        legend = alt.Legend(title=None, columns=2, labelLimit=0, orient="top", labelFontSize=small)
        tiles = base.mark_rect(stroke=style.paper).encode(
            color=alt.Color("legend:N", scale=scale(legends, COLOURS[: len(legends)]), legend=legend),
            opacity=alt.Opacity("opacity:Q", scale=None, legend=None),
        )
        texts = base.mark_text(fontSize=small, color="#111111").encode(text="text:N")
        title = alt.TitleParams(kind, fontSize=small)
        parts.append(
            alt.layer(tiles, texts).properties(
                title=title, width=size, height={"step": 2.2 * style.font_size}
            )
        )
    spec: Spec = alt.hconcat(*parts).to_dict()
    return {**spec, "config": style.config()}


def _ratio(regret: float) -> str:
    """Write a regret in at most four characters: `1.0x`, `12x`."""
    return f"{regret:.{1 if regret < _TENS else 0}f}x"
