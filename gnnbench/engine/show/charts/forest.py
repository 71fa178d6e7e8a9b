"""The forest plot of ratios."""

import math
from collections.abc import Sequence

import altair as alt

from ...judge.comparison import Compared
from ...judge.verdict import Judgement
from ..document import Column
from ..style import Style
from ..wording import change
from .common import Rows, Spec, log_axis, rows_of, verdict_fields, verdict_marks

MEMORY = Column("memory", "memory")
_FARTHEST = math.log(4)
"""Bounds farther than this from their ratio, as log ratio, do not widen the axis."""


def chart(named: Sequence[tuple[str, Compared]], effect: float, style: Style) -> Spec:
    """Return the chart: ratios with their intervals, and a band of changes below the effect."""
    judgements = [row.judgement for _, row in named]
    low, high = _domain([found for found in judgements if found.low is not None] or judgements, effect)
    rows = Rows([label for label, _ in named], [_value(row) for _, row in named], style)
    base = rows_of(
        {
            **rows.row(number),
            **verdict_fields(found),
            **{
                name: None if bound is None else min(max(bound, low), high)
                for name in ("ratio", "low", "high")
                for bound in (getattr(found, name),)
            },
        }
        for number, found in enumerate(judgements)
    ).encode(y=rows.y())
    x = alt.X(
        "ratio:Q",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=log_axis([low, high], style),
        title="time of the head / of the base (log scale)",
    )
    same = {"low": 1 / (1 + effect), "high": 1 + effect, "one": 1.0}
    band = rows_of({**rows.row(number), **same} for number in range(len(named))).encode(
        y=rows.y("top"), y2="bottom:Q"
    )
    layers = [
        band.mark_rect(color=style.band).encode(x="low:Q", x2="high:Q"),
        band.mark_rule(color=style.muted).encode(x="one:Q"),
        base.mark_rule(color=style.mark, strokeWidth=style.font_size / 9).encode(
            x="low:Q", x2="high:Q", opacity=alt.Opacity("strength:Q", legend=None, scale=None)
        ),
        verdict_marks(base, x, style),
    ]
    return rows.chart(*layers)


def _value(row: Compared) -> str:
    """Return what stands beside a row: its ratio and verdict, and how much more memory it needs."""
    more = MEMORY.shown(row.memory).text
    return f"{change(row)}, {more}" if more else change(row)


def _domain(found: Sequence[Judgement], effect: float) -> tuple[float, float]:
    """Return the ends of the axis: it has all ratios, twice the band, and bounds within `_FARTHEST`."""
    least = 2 * math.log1p(effect)
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
