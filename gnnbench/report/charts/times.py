"""The chart of times."""

from collections.abc import Sequence

from ..style import Style
from .common import Row, Spec, finished, log_axis, names, rows_of


def chart(rows: Sequence[Row], style: Style) -> Spec:
    """Return the chart: times with their intervals.

    Args:
        rows: `label`, `time`, `low` and `high` in milliseconds, and the time as `text`.
        style: the style.
    """
    import altair as alt

    base = rows_of(rows).encode(y=names([row["label"] for row in rows], style))
    x = alt.X(
        "time:Q",
        scale=alt.Scale(type="log", nice=False, padding=style.font_size),
        axis=log_axis([row["time"] for row in rows]),
        title="time of a call, ms (log scale)",
    )
    layers = (
        base.mark_rule(color=style.mark, strokeWidth=style.font_size / 5).encode(
            x=alt.X("low:Q"), x2="high:Q"
        ),
        base.mark_point(filled=True, size=style.symbol, opacity=1, color=style.mark).encode(x=x),
        base.mark_text(align="left", dx=style.font_size).encode(x=alt.value(style.width), text="text:N"),
    )
    return finished(layers, style, len(rows))
