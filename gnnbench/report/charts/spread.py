"""The chart of times with their spread."""

from collections.abc import Sequence

from ..style import Style
from .common import Row, Spec, log_axis, rows_of

_ROWS = 8
"""Few rows are higher than usual, up to the height of this number of rows."""
_FARTHEST = 50.0
"""If one value is more than this times another, the scale is logarithmic: small times would not be seen."""
_LINE = 1.1
"""Height of a label's line, in font sizes."""


def chart(rows: Sequence[Row], unit: str, lines: int, style: Style) -> Spec:
    """Return the chart: a dot for each time, with a thick and a thin line around it.

    Args:
        rows: `label`, which may have several lines; `time`; `low` and `high`, the ends of the thick line, or
            None; `least` and `most`, those of the thin line; the time as `text`. The labels are distinct.
        unit: unit of the times.
        lines: most lines of a label.
        style: the style.
    """
    import altair as alt

    values = [row[name] for row in rows for name in ("least", "time", "most")]
    log = min(values) > 0 and max(values) > _FARTHEST * min(values)
    shown = [*values, *(row[name] for row in rows for name in ("low", "high") if row[name])]
    size = style.font_size
    labels = [row["label"] for row in rows]
    base = rows_of({**row, "lines": row["label"].count("\n")} for row in rows).encode(
        y=alt.Y("label:N", sort=labels, axis=None)
    )
    x = alt.X(
        "time:Q",
        title=f"time of a call, {unit}{' (log scale)' if log else ''}",
        axis=log_axis(shown, style) if log else alt.Axis(tickCount=5),
        scale=alt.Scale(type="log", nice=False, padding=size) if log else alt.Scale(zero=True),
    )
    bars = base.mark_bar(color=style.fills[0], height={"band": 0.7}).encode(x=x)
    up = alt.expr(f"-datum.lines * {_LINE * size / 2}")  # so that the middle of all lines is beside the row
    layers = (
        *(() if log else (bars,)),
        base.mark_rule(color=style.mark, strokeWidth=size / 10).encode(x=alt.X("least:Q"), x2="most:Q"),
        base.mark_rule(color=style.mark, strokeWidth=size / 3).encode(x=alt.X("low:Q"), x2="high:Q"),
        base.mark_point(filled=True, size=style.symbol, opacity=1, color=style.mark).encode(x=x),
        base.mark_text(align="left", dx=size).encode(x=alt.value(style.width), text="text:N"),
        base.mark_text(
            align="right", baseline="middle", dx=-size / 2, dy=up, lineBreak="\n", lineHeight=_LINE * size
        ).encode(x=alt.value(0), text="label:N"),
    )
    height = max(len(rows) * (1 + lines) / 2, min(2 * len(rows), _ROWS)) * style.row
    spec: Spec = alt.layer(*layers).properties(width=style.width, height=height).to_dict()
    return {**spec, "config": style.config()}
