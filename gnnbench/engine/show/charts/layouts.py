"""The times of layouts, drawn directly as SVG: a page may have thousands of these charts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ...ground import units
from ..style import Style
from .common import even_ticks

_EDGE = 6.0
"""Nothing is written nearer to an end of the axis, in percent of its length: texts are centred there."""


@dataclass(frozen=True)
class Band:
    """A row of dots."""

    label: str
    is_newer: bool
    times: Sequence[float]
    """In the order of measurement, which goes downwards."""


@dataclass(frozen=True)
class Layouts:
    """The layouts of a benchmark."""

    bands: Sequence[Band]
    """One for each process."""
    unit: str
    interval: tuple[float, float, float] | None = None
    """Lower bound, time and upper bound of the newer side."""

    def thinned(self, most: int) -> Self:
        """Return at most so many layouts of each process, evenly spaced."""
        return replace(self, bands=[replace(band, times=_some(band.times, most)) for band in self.bands])

    def of_sides(self) -> Self:
        """Return a band for each side."""
        sides = []
        for name, is_newer in (("base", False), ("head", True)):
            if of_side := [band.times for band in self.bands if band.is_newer == is_newer]:
                label = f"{name}, {units.count(len(of_side), 'process')}"
                sides.append(Band(label, is_newer, [time for times in of_side for time in times]))
        return replace(self, bands=sides)


def _some(times: Sequence[float], most: int) -> Sequence[float]:
    if len(times) <= most:
        return times
    return [times[place] for place in np.linspace(0, len(times) - 1, max(most, 1)).astype(int)]


def svg(chart: Layouts, style: Style) -> str:
    """Return the chart; on a page it is as wide as its place, because all places are in percent."""
    bands = chart.bands
    values = [time for band in bands for time in band.times] + [*(chart.interval or ())]
    margin = (max(values) - min(values) or max(values)) / 30
    low, high = min(values) - margin, max(values) + margin
    whole, sign = (100.0, "%") if style.page else (float(style.whole), "")

    def wide(length: float) -> str:
        return f"{whole * length / (high - low):.4g}{sign}"

    def x(value: float) -> str:
        return wide(value - low)

    size = style.font_size
    label, dots, radius = 1.35 * size, style.row * (1.1 if style.page else 3.3), round(size / 4.5)
    height = round((label + dots) * len(bands))
    text = f'font-family="sans-serif" font-size="{size}px" fill="{style.ink}"'
    middle = f'text-anchor="middle" {text}'
    parts = []
    if chart.interval:
        start, time, end = chart.interval
        place = x(time)
        parts += [
            f'<rect x="{x(start)}" width="{wide(end - start)}" height="{height}" fill="{style.band}"/>',
            f'<line x1="{place}" x2="{place}" y2="{height}" stroke="{style.muted}" stroke-dasharray="4 3"/>',
        ]
    for tick in even_ticks(low, high, style.ticks):
        if _EDGE < 100 * (tick - low) / (high - low) < 100 - _EDGE:
            place = x(tick)
            parts += [
                f'<line x1="{place}" x2="{place}" y2="{height}" stroke="{style.line}"/>',
                f'<text x="{place}" y="{height + 1.2 * size:.4g}" {middle}>{tick:,.4g}</text>',
            ]
    below = f'x="{x((low + high) / 2)}" y="{height + 2.6 * size:.4g}"'
    parts.append(f"<text {below} {middle}>time of a call, {chart.unit}</text>")
    for number, band in enumerate(bands):
        top = number * (label + dots)
        fill = 0.8 if band.is_newer else 0
        halo = f'stroke="{style.paper}" stroke-width="{size / 4:g}" paint-order="stroke"'
        parts.append(f'<text x="0" y="{top + size:.4g}" {halo} {text}>{band.label}</text>')
        parts.append(f'<g stroke="{style.mark}" fill="{style.mark}" fill-opacity="{fill}">')
        step = (dots - 2 * radius) / max(len(band.times) - 1, 1)
        parts += [
            f'<circle cx="{x(time)}" cy="{top + label + step * order:.4g}" r="{radius}"/>'
            for order, time in enumerate(band.times)
        ]
        parts.append("</g>")
    tall = round(height + 3.2 * size)
    place = f'width="100%" height="{tall}"'
    if not style.page:
        place = f'width="{style.whole}" height="{tall}" viewBox="0 0 {style.whole} {tall}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {place}>{"".join(parts)}</svg>'
