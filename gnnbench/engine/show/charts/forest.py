"""The forest plot of ratios."""

import math
from collections.abc import Sequence

import altair as alt

from ...judge.verdict import Judgement
from ..style import Style
from ..wording import change
from .common import Rows, Spec, log_axis, rows_of, verdict_marks

_FARTHEST = math.log(4)
"""Bounds farther than this from their ratio, as log ratio, do not widen the axis."""

_NARROWEST = 0.03
"""Effect for the least width of the axis if there is no band."""


def chart(judgements: Sequence[tuple[str, Judgement]], effect: float | None, style: Style) -> Spec:
    """Return the chart: ratios with their intervals, and a band of changes below the effect."""
    low, high = _domain([found for _, found in judgements], effect)
    rows = Rows([label for label, _ in judgements], [change(found) for _, found in judgements], style)
    base = rows_of(
        {
            **rows.row(number),
            "verdict": found.verdict,
            "ratio": found.ratio,
            **{
                name: None if bound is None else min(max(bound, low), high)
                for name in ("low", "high", "own_low", "own_high")
                for bound in (getattr(found, name),)
            },
        }
        for number, (_, found) in enumerate(judgements)
    ).encode(y=rows.y())
    x = alt.X(
        "ratio:Q",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=log_axis([low, high], style),
        title="time of the newer side / of the older (log scale)",
    )
    width = effect or 0.0
    same = {"low": 1 / (1 + width), "high": 1 + width, "one": 1.0}
    band = rows_of({**rows.row(number), **same} for number in range(len(judgements))).encode(
        y=rows.y("top"), y2="bottom:Q"
    )
    layers = [
        *([band.mark_rect(color=style.band).encode(x="low:Q", x2="high:Q")] if effect else []),
        band.mark_rule(color=style.muted).encode(x="one:Q"),
        base.mark_rule(color=style.mark, strokeWidth=style.font_size / 9).encode(x="low:Q", x2="high:Q"),
        base.mark_rule(color=style.mark, strokeWidth=style.font_size / 3.5, opacity=0.45).encode(
            x="own_low:Q", x2="own_high:Q"
        ),
        verdict_marks(base, x, style),
    ]
    return rows.chart(*layers)


def _domain(found: Sequence[Judgement], effect: float | None) -> tuple[float, float]:
    """Return the ends of the axis: it has all ratios, twice the band, and bounds within `_FARTHEST`."""
    least = 2 * math.log1p(effect or _NARROWEST)
    low, high = -least, least
    for one in found:
        assert one.ratio is not None
        middle = math.log(one.ratio)
        for bound in (one.ratio, one.low, one.high):
            if bound is not None and bound > 0:
                near = min(max(math.log(bound), middle - _FARTHEST), middle + _FARTHEST)
                low, high = min(low, near), max(high, near)
    margin = 0.03 * (high - low)
    return math.exp(low - margin), math.exp(high + margin)
