"""Draws the chart of a page or slide: ratios of a comparison, or times of a run."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import altair as alt

from ..ground import units
from ..judge.comparison import Compared
from ..judge.verdict import Judgement, Thresholds
from .causes import ranked
from .charts import Row, Rows, Spec, Style, log_axis, rows_of, verdict_fields, verdict_marks
from .document import Column
from .view import BenchmarkView, View
from .wording import change

MEMORY = Column("memory", "memory")
_FARTHEST = math.log(4)
"""A bound that is farther than this from its ratio (natural logarithm) does not widen the axis."""
_ARROWS = {"below": "M0.5,-0.5L0,0L0.5,0.5", "above": "M-0.5,-0.5L0,0L-0.5,0.5"}
"""Arrows at the ends of the axis, for bounds beyond it, as SVG paths."""


@dataclass(frozen=True)
class Picture:
    """A chart with its texts."""

    message: str
    """The main result, as one sentence."""
    note: str
    """How to read the chart."""
    text: str
    """A description for readers who cannot see the chart."""
    draw: Callable[[Style], Spec]
    rows: int = 0
    """Number of named rows; a style may draw fewer."""

    def caption(self, style: Style) -> str:
        """Return the note. If the style has no room for all rows, add how many of them are drawn."""
        left_out = f" {style.most_rows} of {self.rows:,} are drawn." if self.rows > style.most_rows else ""
        return f"{self.note}{left_out}"


def picture(view: View) -> Picture | None:
    """Return the chart of a comparison's ratios, or of a run's times. Returns None if there are none."""
    if view.result:
        rows = [benchmark.row for benchmark in view.benchmarks if benchmark.row]
        with_ratio = [row for row in rows if row.judgement.ratio and not row.judgement.same_code]
        return _ratios(view, view.result.thresholds, with_ratio) if with_ratio else None
    pairs = [(benchmark, benchmark.seconds) for benchmark in view.benchmarks if benchmark.seconds]
    return _times(pairs) if pairs else None


def _ratios(view: View, thresholds: Thresholds, rows: Sequence[Compared]) -> Picture:
    labels = {benchmark.fullname: benchmark.label for benchmark in view.benchmarks}
    labelled_rows = [(labels[row.fullname], row) for row in ranked(rows, view.causes)]
    level, effect = units.level(thresholds.family_level), thresholds.effect

    def draw(style: Style) -> Spec:
        return chart_of_ratios(labelled_rows[: style.most_rows], effect, style)

    has_pale = any(verdict_fields(row.judgement)["strength"] < 1 for row in rows)
    has_hollow = any(row.judgement.low is None for row in rows)
    notes = (
        f"Lines: {level} simultaneous intervals; grey band: changes below {units.fraction(effect)}",
        "Pale: no verdict on the time" if has_pale else "",
        "Hollow: no interval" if has_hollow else "",
        view.same_code,
    )
    note = f"{'. '.join(filter(None, notes))}."
    text = f"Forest plot of {units.count(len(rows), 'ratio')}. {view.headline}."
    return Picture(view.headline, note, text, draw, len(rows))


def _times(benchmarks: Sequence[tuple[BenchmarkView, float]]) -> Picture:
    """Return the chart of times, given in seconds. All platforms of an operation are next to each other."""
    longest: dict[Sequence[str], float] = {}
    for benchmark, seconds in benchmarks:
        longest[_work(benchmark)] = max(seconds, longest.get(_work(benchmark), 0.0))
    in_order = sorted(benchmarks, key=lambda pair: (-longest[_work(pair[0])], _work(pair[0]), -pair[1]))
    rows = []
    for benchmark, seconds in in_order:
        low, high = (benchmark.time and benchmark.time.interval) or (None, None)
        rows.append(Time(seconds, low, high).row(benchmark.label, 1e-3))

    def draw(style: Style) -> Spec:
        return chart_of_times(rows[: style.most_rows], "ms", style)

    first, seconds = in_order[0]
    message = f"{first.label} takes longest: {units.seconds(seconds)}"
    hollow = "" if all(row["sure"] for row in rows) else " Hollow: no interval."
    note = f"Times with their intervals, the longest operation first.{hollow}"
    text = f"Times of {units.count(len(rows), 'benchmark')}. {message}."
    return Picture(message, note, text, draw, len(rows))


def _work(benchmark: BenchmarkView) -> Sequence[str]:
    """Return the labels of a benchmark without its platform."""
    return benchmark.labels.work if benchmark.labels else (benchmark.fullname,)


def chart_of_ratios(labelled_rows: Sequence[tuple[str, Compared]], effect: float, style: Style) -> Spec:
    """Return the forest plot: ratios with their intervals, and a band of changes below the minimum effect."""
    judgements = [row.judgement for _, row in labelled_rows]
    low, high = _domain([point for point in judgements if point.low is not None] or judgements, effect)
    rows = Rows([label for label, _ in labelled_rows], [_text(row) for _, row in labelled_rows], style)

    def clipped(bound: float | None) -> float | None:
        return None if bound is None else min(max(bound, low), high)

    base = rows_of(
        {
            "row": number,
            **verdict_fields(point),
            **{name: clipped(getattr(point, name)) for name in ("ratio", "low", "high")},
            "below": low if point.low is not None and point.low < low else None,
            "above": high if point.high is not None and point.high > high else None,
        }
        for number, point in enumerate(judgements)
    ).encode(y=rows.y())
    x = alt.X(
        "ratio:Q",
        scale=alt.Scale(type="log", domain=[low, high], nice=False, clamp=True),
        axis=log_axis([low, high], style),
        title="time of the head / time of the base (log scale)",
    )
    limits = {"low": 1 / (1 + effect), "high": 1 + effect, "unchanged": 1.0}
    ends = ({"top": row - rows.reach, "bottom": row + rows.reach} for row in range(len(labelled_rows)))
    band = rows_of({**limits, **end} for end in ends).encode(y=rows.y("top"), y2="bottom:Q")
    lines = base.encode(opacity=alt.Opacity("strength:Q", scale=None))
    layers = [
        band.mark_rect(color=style.band).encode(x="low:Q", x2="high:Q"),
        band.mark_rule(color=style.muted).encode(x="unchanged:Q"),
        lines.mark_rule(color=style.mark, strokeWidth=style.font_size / 9).encode(x="low:Q", x2="high:Q"),
        *(
            lines.mark_point(shape=shape, color=style.mark, size=style.symbol).encode(x=f"{field}:Q")
            for field, shape in _ARROWS.items()
        ),
        verdict_marks(base, x, style),
    ]
    return rows.chart(*layers)


def _text(row: Compared) -> str:
    """Return the text at the end of a row: ratio, verdict and change of memory."""
    memory = MEMORY.shown(row.memory).text
    return f"{change(row)}, {memory}" if memory else change(row)


def _domain(judgements: Sequence[Judgement], effect: float) -> tuple[float, float]:
    """Return the ends of an axis with room for all ratios, twice the grey band, and bounds near a ratio."""
    least = 2 * math.log1p(effect)
    low, high = -least, least
    for judgement in judgements:
        assert judgement.ratio is not None
        middle = math.log(judgement.ratio)
        for bound in (judgement.ratio, judgement.low, judgement.high):
            if bound is not None and bound > 0:
                near = min(max(math.log(bound), middle - _FARTHEST), middle + _FARTHEST)
                low, high = min(low, near), max(high, near)
    margin = 0.03 * (high - low)
    return math.exp(low - margin), math.exp(high + margin)


class Time(NamedTuple):
    """A time in seconds, and the ends of a thick line (low, high) and a thin one (least, most), or None."""

    time: float
    low: float | None
    high: float | None
    least: float | None = None
    most: float | None = None

    def row(self, label: str, unit: float) -> dict[str, Any]:
        """Return a row of `chart_of_times`, with `?` after a time without interval. `unit` is in seconds."""
        is_sure = self.low is not None
        scaled = {name: value and value / unit for name, value in self._asdict().items()}
        text = f"{units.seconds(self.time)}{'' if is_sure else '?'}"
        return {"label": label, "text": text, "sure": float(is_sure), **scaled}


def chart_of_times(benchmarks: Sequence[Row], unit: str, style: Style) -> Spec:
    """Return the chart of times with their intervals; `benchmarks`: what `Time.row` returns."""
    rows = Rows([row["label"] for row in benchmarks], [row["text"] for row in benchmarks], style)
    base = rows_of({**row, "row": number} for number, row in enumerate(benchmarks)).encode(y=rows.y())
    values = [row[name] for row in benchmarks for name in ("time", "least", "most") if row.get(name)]
    x = alt.X(
        "time:Q",
        scale=alt.Scale(type="log", nice=False, padding=style.font_size),
        axis=log_axis(values or [1.0], style),
        title=f"time of a call, {unit} (log scale)",
    )
    width = style.font_size
    layers = (
        base.mark_rule(color=style.mark, strokeWidth=width / 10).encode(x="least:Q", x2="most:Q"),
        base.mark_rule(color=style.mark, strokeWidth=width / 5).encode(x="low:Q", x2="high:Q"),
        base.mark_point(size=style.symbol, opacity=1, color=style.mark, fill=style.mark).encode(
            x=x, fillOpacity=alt.FillOpacity("sure:Q", scale=None)
        ),
    )
    return rows.chart(*layers)
