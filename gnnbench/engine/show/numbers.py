"""The data of a page's rows, which the browser shows when a reader opens a row: facts, notes, layouts."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..ground import units
from ..measure.counter_changes import Counters
from ..measure.estimate import SHOWN_LEVEL
from .charts import PAGE
from .document import effect
from .measured import Measured
from .names import LONGEST, clean_all
from .verdicts import benchmark_notes
from .view import BenchmarkView
from .wording import detectable, is_changed, memory_sentence

_MOST = 200
"""Maximum number of layouts drawn. If there are more, evenly spaced ones are drawn."""


def numbers(view: BenchmarkView) -> dict[str, Any]:
    """Return the data of a benchmark's row; `report.js` reads it."""
    content = {"facts": facts(view), "notes": notes(view), "operators": _operators(view.timed.part.counters)}
    row: dict[str, Any] = clean_all(content, LONGEST)
    return row | {"svg": layouts(view.time)} if view.time and view.time.blocks else row


def facts(view: BenchmarkView) -> list[tuple[str, str]]:
    """Return what an opened row shows about a benchmark, as names and values."""
    pairs, part = [], view.timed.part
    if judgement := view.row and view.row.judgement:
        pairs.append(("verdict", f"{view.verdict}: {judgement.reason}"))
        if judgement.own_low is not None:
            pairs.append(("per-benchmark interval", units.interval(judgement.own_low, judgement.own_high, 3)))
        if (smallest := detectable(judgement)) is not None:
            pairs.append(("minimum detectable effect", effect(smallest)))
        if judgement.base_processes or judgement.head_processes:
            pairs.append(("processes", f"base {judgement.base_processes}, head {judgement.head_processes}"))
    if view.row and view.row.memory:
        pairs.append(("verdict on memory", memory_sentence(view.row.memory)))
    if time := view.time:
        if bounds := time.interval:
            name = f"{units.level(SHOWN_LEVEL)} interval of the time"
            pairs.append((name, " to ".join(map(units.seconds, bounds))))
        pairs += [("estimate", time.location), *time.facts]
    if limit := part.limit:
        least = f"{units.size(limit.least.bytes)} moved, {limit.least.flops / 1e6:,.1f} million operations"
        bound = f"{units.fraction(limit.fraction)}; at least {least}"
        pairs.append(("fraction of the roofline bound", bound))
    return [*pairs, *(_counts(part.counters) if part.counters else ())]


def _counts(counters: Counters) -> Iterator[tuple[str, str]]:
    """Yield names and values of what was counted in one call."""
    yield "host-device synchronisations", f"{counters.host_reads:,}"
    if (peak := counters.memory.get("peak_bytes")) is not None:
        yield "peak memory", f"{units.size(peak)} more than before the call"
    if (allocated := counters.memory.get("allocated_bytes")) is not None:
        yield "allocated", units.size(allocated)


def _operators(counters: Counters | None) -> list[tuple[str, int]]:
    """Return names and call counts of operators and library functions, the most frequent first."""
    kinds = [counters.counts.get(kind, {}) for kind in ("operators", "library_calls")] if counters else []
    return sorted((item for counts in kinds for item in counts.items()), key=lambda item: -item[1])


def notes(view: BenchmarkView) -> list[str]:
    error = [f"interrupted: {view.error}"] if view.error else []
    return [*error, *(view.row.notes if view.row else ()), *_time_notes(view)]


def other_notes(view: BenchmarkView) -> list[str]:
    """Return the notes on a benchmark that the page's table of changed benchmarks does not show."""
    unchanged = benchmark_notes(view.row) if view.row and not is_changed(view.row) else []
    return [*unchanged, *_time_notes(view)]


def _time_notes(view: BenchmarkView) -> list[str]:
    """Return the notes on a benchmark's time and its roofline bound."""
    limit = view.timed.part.limit
    above = [f"above the roofline bound: {limit.note}"] if limit and limit.note else []
    return [*(view.time.remarks if view.time else ()), *above]


def layouts(time: Measured) -> str:
    """Return a chart of a time's blocks, one below the other in the order of measurement.

    Each block has its own layout (placement of the inputs in memory). The SVG fits any width.
    """
    start, end = time.interval or (time.seconds, time.seconds)
    low, high = min(start, *time.blocks), max(end, *time.blocks)
    margin = (high - low or high) / 30

    def width(duration: float) -> str:
        return f"{100 * duration / (high - low + 2 * margin):.4g}%"

    def x(seconds: float) -> str:
        return width(seconds - low + margin)

    size, count = PAGE.font_size, len(time.blocks)
    height, radius = round(1.1 * PAGE.row + size), round(size / 4.5)
    dots = [time.blocks[index] for index in np.linspace(0, count - 1, min(count, _MOST)).astype(int)]
    step = (height - size - 2 * radius) / max(len(dots) - 1, 1)
    line = f'x1="{x(time.seconds)}" x2="{x(time.seconds)}" y2="{height}"'
    text = f'font-family="sans-serif" font-size="{size}px" fill="{PAGE.ink}" text-anchor="middle"'
    extremes = f"time of a call: {' to '.join(map(units.seconds, (min(time.blocks), max(time.blocks))))}"
    parts = [
        f'<rect x="{x(start)}" width="{width(end - start)}" height="{height}" fill="{PAGE.band}"/>',
        f'<line {line} stroke="{PAGE.muted}" stroke-dasharray="4 3"/>',
        *(
            f'<circle cx="{x(dot)}" cy="{size + step * order:.4g}" r="{radius}" fill="{PAGE.mark}"/>'
            for order, dot in enumerate(dots)
        ),
        f'<text x="50%" y="{height + 1.2 * size:.4g}" {text}>{extremes}</text>',
    ]
    whole = f'width="100%" height="{round(height + 1.8 * size)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {whole}>{"".join(parts)}</svg>'
