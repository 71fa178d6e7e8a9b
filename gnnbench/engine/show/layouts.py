"""The times of layouts, drawn directly as SVG: a page may have thousands of these charts."""

from collections.abc import Sequence

import numpy as np

from ..ground import units
from .charts import even_ticks
from .measured import Measured
from .style import PAGE

_EDGE = 6.0
"""Nothing is written nearer to an end of the axis, in percent of its length: texts are centred there."""


def _some(times: Sequence[float], most: int) -> Sequence[float]:
    if len(times) <= most:
        return times
    return [times[place] for place in np.linspace(0, len(times) - 1, max(most, 1)).astype(int)]


def svg(processes: Sequence[Sequence[float]], known: Measured | None, most: int) -> str:
    """Return the chart, as wide as its place in a page, because all places are in percent.

    Args:
        processes: seconds in the order of measurement, which goes downwards.
        known: the time of the benchmark; None if it has none.
        most: layouts of each process that are drawn; of more, evenly spaced ones.
    """
    seconds = known.seconds if known else float(np.median(np.concatenate(processes)))
    length, unit = units.scale(seconds)
    interval = [bound / length for bound in (known and known.interval) or (seconds, seconds)]
    values = [time / length for times in processes for time in times] + interval
    margin = (max(values) - min(values) or max(values)) / 30
    low, high = min(values) - margin, max(values) + margin

    def wide(length: float) -> str:
        return f"{100 * length / (high - low):.4g}%"

    def x(value: float) -> str:
        return wide(value - low)

    size = PAGE.font_size
    tall, radius = 1.1 * PAGE.row + size, round(size / 4.5)
    height = round(tall * len(processes))
    text = f'font-family="sans-serif" font-size="{size}px" fill="{PAGE.ink}"'
    middle = f'text-anchor="middle" {text}'
    parts = []
    if known:
        start, end = interval
        place = x(seconds / length)
        parts += [
            f'<rect x="{x(start)}" width="{wide(end - start)}" height="{height}" fill="{PAGE.band}"/>',
            f'<line x1="{place}" x2="{place}" y2="{height}" stroke="{PAGE.muted}" stroke-dasharray="4 3"/>',
        ]
    for tick in even_ticks(low, high, PAGE.ticks):
        if _EDGE < 100 * (tick - low) / (high - low) < 100 - _EDGE:
            place = x(tick)
            parts += [
                f'<line x1="{place}" x2="{place}" y2="{height}" stroke="{PAGE.line}"/>',
                f'<text x="{place}" y="{height + 1.2 * size:.4g}" {middle}>{tick:,.4g}</text>',
            ]
    below = f'x="{x((low + high) / 2)}" y="{height + 2.6 * size:.4g}"'
    parts.append(f"<text {below} {middle}>time of a call, {unit}</text>")
    parts.append(f'<g stroke="{PAGE.mark}" fill="{PAGE.mark}" fill-opacity="0.8">')
    for number, times in enumerate(processes):
        drawn = _some(times, most)
        step = (tall - size - 2 * radius) / max(len(drawn) - 1, 1)
        top = number * tall + size
        parts += [
            f'<circle cx="{x(time / length)}" cy="{top + step * order:.4g}" r="{radius}"/>'
            for order, time in enumerate(drawn)
        ]
    parts.append("</g>")
    size_of_all = f'width="100%" height="{round(height + 3.2 * size)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size_of_all}>{"".join(parts)}</svg>'
