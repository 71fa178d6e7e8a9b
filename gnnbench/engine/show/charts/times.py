"""Charts of times: of benchmarks, with their spread, and of platforms side by side."""

from collections.abc import Sequence

import altair as alt

from ..style import PLATFORM_SHAPES, PLATFORMS, Style
from .common import Row, Rows, Spec, finished, log_x, rows_of, scale

_ROWS = 8
"""Few rows are higher than usual, up to the height of this number of rows."""
_FARTHEST = 50.0
"""If one value is more than this times another, the scale is logarithmic: small times would not be seen."""
_LINE = 1.1
"""Height of a label's line, in font sizes."""


def chart(times: Sequence[Row], style: Style) -> Spec:
    """Return the chart: times with their intervals.

    `times`: rows with `label`, `time`, `low` and `high` in milliseconds, the time as `text`, and `sure`: 1,
    or 0 for a time without an interval.
    """
    rows = Rows([row["label"] for row in times], [row["text"] for row in times], style)
    base = rows_of({**row, **rows.row(number)} for number, row in enumerate(times)).encode(y=rows.y())
    x = log_x("time", [row["time"] for row in times], "time of a call, ms", style)
    layers = (
        base.mark_rule(color=style.mark, strokeWidth=style.font_size / 5).encode(x="low:Q", x2="high:Q"),
        base.mark_point(size=style.symbol, opacity=1, color=style.mark, fill=style.mark).encode(
            x=x, fillOpacity=alt.FillOpacity("sure:Q", legend=None, scale=None)
        ),
    )
    return rows.chart(*layers)


def spread(rows: Sequence[Row], unit: str, lines: int, style: Style) -> Spec:
    """Return the chart: a dot for each time, with a thick and a thin line around it.

    `rows`: `label`, which may have several lines; `time`; `low` and `high`, the ends of the thick line, or
    None; `least` and `most`, those of the thin line; the time as `text`. The labels are distinct.
    """
    values = [row[name] for row in rows for name in ("least", "time", "most")]
    log = min(values) > 0 and max(values) > _FARTHEST * min(values)
    shown = [*values, *(row[name] for row in rows for name in ("low", "high") if row[name])]
    size = style.font_size
    labels = [row["label"] for row in rows]
    base = rows_of({**row, "lines": row["label"].count("\n")} for row in rows).encode(
        y=alt.Y("label:N", sort=labels, axis=None)
    )
    title = f"time of a call, {unit}"
    linear = alt.X("time:Q", title=title, axis=alt.Axis(tickCount=5), scale=alt.Scale(zero=True))
    x = log_x("time", shown, title, style) if log else linear
    bars = base.mark_bar(color=style.fill, height={"band": 0.7}).encode(x=x)
    up = alt.expr(f"-datum.lines * {_LINE * size / 2}")  # so that the middle of all lines is beside the row
    layers = (
        *(() if log else (bars,)),
        base.mark_rule(color=style.mark, strokeWidth=size / 10).encode(x="least:Q", x2="most:Q"),
        base.mark_rule(color=style.mark, strokeWidth=size / 3).encode(x="low:Q", x2="high:Q"),
        base.mark_point(filled=True, size=style.symbol, opacity=1, color=style.mark).encode(x=x),
        base.mark_text(align="left", dx=size).encode(x=alt.value(style.width), text="text:N"),
        base.mark_text(
            align="right", baseline="middle", dx=-size / 2, dy=up, lineBreak="\n", lineHeight=_LINE * size
        ).encode(x=alt.value(0), text="label:N"),
    )
    height = max(len(rows) * (1 + lines) / 2, min(2 * len(rows), _ROWS)) * style.row
    return {**finished(layers, style), "height": height}


def platforms(times: Sequence[Row], style: Style) -> Spec:
    """Return the chart: times of each operation's platforms, relative to the fastest.

    `times`: rows with `label` of the operation, `platform`, `relative` time, and `text` of the fastest.
    """
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
    x = log_x("relative", [row["relative"] for row in times], "time / time of the fastest platform", style)
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
