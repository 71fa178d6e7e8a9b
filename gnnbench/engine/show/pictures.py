"""The charts of a view, with message, caption and description."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..ground import units
from ..judge.verdict import Thresholds
from .charts import forest, layouts, times
from .numbers import MOST_POINTS
from .style import Style
from .view import BenchmarkView, View

Place = Literal["verdicts", "benchmark", "platforms", "times"]

_MOST_CHANGED = 8
"""Most changed benchmarks whose distributions are drawn."""


@dataclass(frozen=True)
class Picture:
    """One chart."""

    place: Place
    message: str
    """The main result, one sentence."""
    note: str
    """How to read the chart."""
    text: str
    """Description for readers who cannot see it."""
    draw: Callable[[Style], dict[str, Any] | str]
    """Returns the Vega-Lite spec, or SVG."""
    rows: int = 0
    """Number of named rows; a style may draw fewer."""

    def caption(self, style: Style) -> str:
        """Return the note, with how many rows a style draws if it is not all."""
        left_out = f" {style.most_rows} of {self.rows:,} are drawn." if self.rows > style.most_rows else ""
        return f"{self.note}{left_out}"


def pictures(view: View) -> Iterator[Picture]:
    """Yield the charts of a view, the most important first."""
    if view.result:
        judged = [(one, one.row.judgement) for one in view.benchmarks if one.row]
        with_ratio = [one for one, found in judged if found.ratio and not found.same_code]
        if with_ratio:
            yield _forest(view, view.result.thresholds, with_ratio)
        yield from map(_distribution, [one for one in view.moved if one.layouts][:_MOST_CHANGED])
    for title, rows in view.side_by_side.items():
        yield _platforms(title, rows)
    if timed := [one for one in view.benchmarks if one.seconds and not view.result]:
        yield _times(timed)


def _forest(view: View, thresholds: Thresholds, benchmarks: Sequence[BenchmarkView]) -> Picture:
    there = {one.fullname for one in view.moved}
    others = sorted(
        (one for one in benchmarks if one.fullname not in there), key=lambda one: -abs(one.ratio - 1)
    )
    level, effect = thresholds.family_level, thresholds.effect

    def draw(style: Style) -> dict[str, Any]:
        in_order = sorted([*view.moved, *others], key=lambda one: not (one.row and one.row.is_worse))
        rows = [(one.label, one.row) for one in in_order[: style.most_rows] if one.row]
        return forest.chart(rows, effect, style)

    same_code = f" {view.same_code}." if view.same_code else ""
    pale = f"undecided ({sum(one.verdict == 'undecided' for one in benchmarks)}) or other outputs"
    note = (
        f"Lines: {units.level(level)} simultaneous intervals; grey: changes of less than "
        f"{units.fraction(effect)}. Pale: {pale}; hollow: no interval.{same_code}"
    )
    text = f"Forest plot of {units.count(len(benchmarks), 'ratio')}. {view.headline}."
    return Picture("verdicts", view.headline, note, text, draw, len(benchmarks))


def _distribution(benchmark: BenchmarkView) -> Picture:
    found = benchmark.layouts
    assert found
    count, newer = len(found.bands), sum(band.is_newer for band in found.bands)

    def draw(style: Style) -> str:
        return layouts.svg(found.thinned(MOST_POINTS // count).of_sides(), style)

    note = "Each dot: the median of a layout. Dashed: the head's time, grey: its interval."
    text = (
        f"Times by layout of {benchmark.label}: "
        f"{units.count(count - newer, 'process')} of the base, {newer} of the head."
    )
    return Picture("benchmark", benchmark.change, note, text, draw)


def _platforms(title: str, rows: Mapping[str, Sequence[BenchmarkView]]) -> Picture:
    best = {what: min(ones, key=_seconds) for what, ones in rows.items()}
    wins = Counter(one.labels.platform for one in best.values() if one.labels).most_common()
    winner, most = wins[0]
    where = title.partition(" · ")[0]
    spread = sorted(rows, key=lambda what: -max(map(_seconds, rows[what])) / _seconds(best[what]))

    def draw(style: Style) -> dict[str, Any]:
        shown = [
            {
                "label": what,
                "platform": one.labels.platform,
                "relative": _seconds(one) / _seconds(best[what]),
                "text": f"{one.labels.platform} {units.seconds(_seconds(one))}" if one is best[what] else "",
            }
            for what in spread[: style.most_rows]
            for one in rows[what]
            if one.labels
        ]
        return times.platforms(shown, style)

    if len(rows) == 1:
        (what,) = rows
        message = (
            f"On {where}, {winner} took the least time for {what}, {units.seconds(_seconds(best[what]))}"
        )
    else:
        others = "".join(f", {name} for {count}" for name, count in wins[1:])
        message = f"On {where}, {winner} took the least time in {most} of {len(rows)} operations{others}"
    note = f"{title}. At the right: the fastest platform and its time. The largest differences come first."
    text = f"Platforms side by side, {len(rows)} operations. {message}."
    return Picture("platforms", message, note, text, draw, len(rows))


def _times(benchmarks: Sequence[BenchmarkView]) -> Picture:
    longest = sorted(benchmarks, key=lambda one: -_seconds(one))

    def draw(style: Style) -> dict[str, Any]:
        return times.chart([_time(one) for one in longest[: style.most_rows]], "ms", style)

    first = longest[0]
    message = f"{first.subject} takes longest{first.where}: {units.seconds(_seconds(first))}"
    note = "Times with their intervals, the longest first. Hollow: no interval."
    text = f"Times of {units.count(len(benchmarks), 'benchmark')}. {message}."
    return Picture("times", message, note, text, draw, len(longest))


def _time(one: BenchmarkView) -> dict[str, Any]:
    """Return a row of the times' chart, in milliseconds; no interval without both bounds."""
    time, interval = _seconds(one), one.time and one.time.interval
    low, high = interval or (time, time)
    text = f"{units.seconds(time)}{'' if interval else '?'}"
    times = {"time": 1e3 * time, "low": 1e3 * low, "high": 1e3 * high}
    return {"label": one.label, "text": text, "sure": float(interval is not None), **times}


def _seconds(benchmark: BenchmarkView) -> float:
    assert benchmark.seconds
    return benchmark.seconds
