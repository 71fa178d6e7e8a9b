"""The chart of a benchmark's layouts."""

from collections.abc import Sequence

from ..style import Style
from .common import Row, Spec, finished


def chart(
    layouts: Sequence[Row], interval: Sequence[Row], processes: Sequence[str], unit: str, style: Style
) -> Spec:
    """Return the chart: times of layouts by process, in the order of measurement downwards, and the interval.

    Args:
        layouts: rows with `process`, `side`, `order` and `time`.
        interval: at most one row, with `low`, `high` and `time` of the newer side.
        processes: names of the processes, from the top.
        unit: unit of the times.
        style: the style.
    """
    import altair as alt

    x = alt.X(
        "time:Q",
        title=f"time of a call, {unit}",
        scale=alt.Scale(zero=False),
        axis=alt.Axis(tickCount=style.ticks),
    )
    within = alt.Chart(alt.NamedData("interval"))
    points = (
        alt.Chart(alt.NamedData("layouts"))
        .mark_point(
            size=style.symbol * 0.35, opacity=0.75, strokeWidth=1.2, color=style.mark, fill=style.mark
        )
        .encode(
            x=x,
            y=alt.Y(
                "process:N",
                title=None,
                sort=list(processes) or None,
                axis=alt.Axis(labelLimit=style.label_width),
            ),
            yOffset=alt.YOffset("order:Q", scale=alt.Scale(reverse=False)),
            fillOpacity=alt.FillOpacity(
                "side:O", legend=None, scale=alt.Scale(domain=["base", "head"], range=[0, 0.8])
            ),
        )
    )
    layers = (
        within.mark_rect(color=style.band).encode(x=alt.X("low:Q"), x2="high:Q"),
        within.mark_rule(color=style.muted, strokeDash=[4, 3]).encode(x=alt.X("time:Q")),
        points,
    )
    spec = finished(layers, style)
    spec["datasets"] = {"layouts": list(layouts), "interval": list(interval)}
    step = style.row * 2.0
    if not style.page:  # many processes must fit on a slide
        step = min(step, max(style.row * style.most_rows / len(processes), style.font_size))
    spec["height"] = {"step": step}
    return spec
