"""The chart of platforms side by side."""

from collections.abc import Sequence

from ..style import PLATFORM_SHAPES, PLATFORMS, Style
from .common import Row, Spec, log_axis, rows_of, scale
from .rows import Rows


def chart(times: Sequence[Row], style: Style) -> Spec:
    """Return the chart: times of each operation's platforms, relative to the fastest.

    Args:
        times: rows with `label` of the operation, `platform`, `relative` time, and `text` of the fastest.
        style: the style.
    """
    import altair as alt

    found = dict.fromkeys(row["platform"] for row in times)
    there = sorted(found, key=lambda name: PLATFORMS.index(name) if name in PLATFORMS else len(PLATFORMS))
    shapes, colours = (
        [values[number % len(values)] for number in range(len(there))]
        for values in (PLATFORM_SHAPES, style.platforms)
    )
    labels = list(dict.fromkeys(row["label"] for row in times))
    fastest = {row["label"]: row["text"] for row in times if row["text"]}
    rows = Rows(labels, [fastest[label] for label in labels], style)
    base = rows_of({**row, **rows.row(labels.index(row["label"]))} for row in times).encode(y=rows.y())
    x = alt.X(
        "relative:Q",
        scale=alt.Scale(type="log", nice=False, padding=style.font_size),
        axis=log_axis([row["relative"] for row in times], style),
        title="time / time of the fastest platform (log scale)",
    )
    layers = (
        base.mark_line(color=style.muted, strokeWidth=style.font_size / 10).encode(x=x, detail="label:N"),
        base.mark_point(
            size=style.symbol, opacity=1, filled=True, stroke=style.paper, strokeWidth=0.5
        ).encode(
            x=x,
            shape=alt.Shape("platform:N", title=None, scale=scale(there, shapes)),
            color=alt.Color("platform:N", title=None, scale=scale(there, colours)),
        ),
    )
    return rows.chart(*layers)
