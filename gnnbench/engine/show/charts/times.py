"""Charts of times: of benchmarks, with their spread, and of platforms side by side."""

from collections.abc import Sequence

import altair as alt

from ..style import PLATFORM_SHAPES, Style
from .common import Row, Rows, Spec, log_x, rows_of, scale


def chart(times: Sequence[Row], unit: str, style: Style) -> Spec:
    """Return the chart: times with their intervals.

    `times`: rows with `label`, the time as `text`, `time`, `low` and `high` in the unit, and `sure`: 1, or 0
    for a time without an interval; perhaps `least` and `most`, the ends of a thin line.
    """
    rows = Rows([row["label"] for row in times], [row["text"] for row in times], style)
    base = rows_of({**row, **rows.row(number)} for number, row in enumerate(times)).encode(y=rows.y())
    values = [row[name] for row in times for name in ("time", "least", "most") if row.get(name)]
    x, width = log_x("time", values or [1.0], f"time of a call, {unit}", style), style.font_size
    layers = (
        base.mark_rule(color=style.mark, strokeWidth=width / 10).encode(x="least:Q", x2="most:Q"),
        base.mark_rule(color=style.mark, strokeWidth=width / 5).encode(x="low:Q", x2="high:Q"),
        base.mark_point(size=style.symbol, opacity=1, color=style.mark, fill=style.mark).encode(
            x=x, fillOpacity=alt.FillOpacity("sure:Q", legend=None, scale=None)
        ),
    )
    return rows.chart(*layers)


def platforms(times: Sequence[Row], style: Style) -> Spec:
    """Return the chart of rows with `label`, `platform`, `relative` time, and `text` of the fastest."""
    there = list(dict.fromkeys(row["platform"] for row in times))
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
