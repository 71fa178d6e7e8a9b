"""The chart of times."""

from collections.abc import Sequence

from ..style import Style
from .common import Row, Spec, log_axis, rows_of
from .rows import Rows


def chart(times: Sequence[Row], style: Style) -> Spec:
    """Return the chart: times with their intervals.

    Args:
        times: rows with `label`, `time`, `low` and `high` in milliseconds, and the time as `text`.
        style: the style.
    """
    import altair as alt

    rows = Rows([row["label"] for row in times], [row["text"] for row in times], style)
    base = rows_of({**row, **rows.row(number)} for number, row in enumerate(times)).encode(y=rows.y())
    x = alt.X(
        "time:Q",
        scale=alt.Scale(type="log", nice=False, padding=style.font_size),
        axis=log_axis([row["time"] for row in times], style),
        title="time of a call, ms (log scale)",
    )
    layers = (
        base.mark_rule(color=style.mark, strokeWidth=style.font_size / 5).encode(
            x=alt.X("low:Q"), x2="high:Q"
        ),
        base.mark_point(filled=True, size=style.symbol, opacity=1, color=style.mark).encode(x=x),
    )
    return rows.chart(*layers)
