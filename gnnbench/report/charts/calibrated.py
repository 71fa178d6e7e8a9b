"""The chart of a calibration."""

from ... import units
from ..style import Style
from ..view import Calibrated
from .common import Spec, rows_of, scale
from .rows import Rows

_ENOUGH = 0.95
_HALF = 0.5


def chart(found: Calibrated, style: Style) -> Spec:
    """Return the chart: how often injected slowdowns were found, by benchmark and size."""
    import altair as alt

    shown = found.benchmarks[: style.most_rows]
    rows = Rows([name for name, _, _ in shown], [""] * len(shown), style)
    of = "/" if style.narrow else " of "
    base = rows_of(
        {
            **rows.row(number),
            "planted": units.fraction(one.planted),
            "text": f"{one.count}{of}{one.of}",
            "share": _share(one.count / one.of),
        }
        for number, (_, rates, _) in enumerate(shown)
        for one in rates
        if one.of
    )
    sizes = dict.fromkeys(units.fraction(one.planted) for _, rates, _ in shown for one in rates if one.of)
    x = alt.X("planted:O", sort=list(sizes), title="injected slowdown", axis=alt.Axis(labelAngle=0))
    base = base.encode(x=x)
    fills = scale(("seldom", "often", "found"), (style.paper, style.fills[1], style.fills[0]))
    fill = alt.Fill("share:N", legend=None, scale=fills)
    return rows.chart(
        base.mark_rect(stroke=style.line).encode(y=rows.y("top"), y2="bottom:Q", fill=fill),
        base.mark_text().encode(y=rows.y(), text="text:N"),
    )


def _share(value: float) -> str:
    return "found" if value >= _ENOUGH else "often" if value >= _HALF else "seldom"
