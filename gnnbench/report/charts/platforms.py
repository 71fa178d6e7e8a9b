"""Times of the platforms of each operation, relative to the fastest."""

from collections.abc import Sequence

from gnnbench.report.charts.common import Row, Spec, finished, log_axis, names, rows_of, scale
from gnnbench.report.style import PLATFORM_SHAPES, Style


def chart(rows: Sequence[Row], style: Style) -> Spec:
    """Times of the platforms of each operation, relative to the fastest.

    Args:
        rows: `label` of the operation, `platform`, `relative` time, and `text` of the fastest.
        style: what it looks like.
    """
    import altair as alt

    there = [name for name in PLATFORM_SHAPES if any(row["platform"] == name for row in rows)]
    labels = list(dict.fromkeys(row["label"] for row in rows))
    base = rows_of(rows).encode(y=names(labels, style))
    x = alt.X(
        "relative:Q",
        scale=alt.Scale(type="log"),
        axis=log_axis([row["relative"] for row in rows]),
        title="time / time of the fastest platform (log scale)",
    )
    layers = (
        base.mark_line(color=style.muted, strokeWidth=style.font_size / 10).encode(x=x, detail="label:N"),
        base.mark_point(
            size=style.symbol, opacity=1, filled=True, stroke=style.paper, strokeWidth=0.5
        ).encode(
            x=x,
            shape=alt.Shape(
                "platform:N", title=None, scale=scale(there, [PLATFORM_SHAPES[name] for name in there])
            ),
            color=alt.Color(
                "platform:N",
                title=None,
                scale=scale(
                    there, [style.mark, style.verdicts[1], style.verdicts[0], style.verdicts[3]][: len(there)]
                ),
            ),
        ),
        base.mark_text(align="left", dx=style.font_size).encode(x=alt.value(style.width), text="text:N"),
    )
    return finished(layers, style, len(labels))
