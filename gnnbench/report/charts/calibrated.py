"""The chart of a calibration."""

from ... import units
from ..style import Style
from ..view import Calibrated
from .common import Spec, distinct, finished, names, rows_of, scale

_ENOUGH = 0.95
_HALF = 0.5


def chart(found: Calibrated, style: Style) -> Spec:
    """Return the chart: how often injected slowdowns were found, by benchmark and size."""
    import altair as alt

    shown = found.benchmarks[: style.most_rows]
    labels = distinct([name for name, _, _ in shown])
    rows = [
        {
            "label": label,
            "planted": units.fraction(one.planted),
            "text": f"{one.count} of {one.of}",
            "share": _share(one.count / one.of),
        }
        for label, (_, rates, _) in zip(labels, shown, strict=True)
        for one in rates
        if one.of
    ]
    order = list(dict.fromkeys(row["planted"] for row in rows))
    base = rows_of(rows).encode(
        x=alt.X("planted:O", sort=order, title="injected slowdown", axis=alt.Axis(labelAngle=0)),
        y=names(labels, style),
    )
    fills = scale(("seldom", "often", "found"), (style.paper, style.fills[1], style.fills[0]))
    fill = alt.Fill("share:N", legend=None, scale=fills)
    layers = (base.mark_rect(stroke=style.line).encode(fill=fill), base.mark_text().encode(text="text:N"))
    return finished(layers, style, len(labels))


def _share(value: float) -> str:
    return "found" if value >= _ENOUGH else "often" if value >= _HALF else "seldom"
