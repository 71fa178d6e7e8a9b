"""The chart of a breakdown."""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from ... import units
from ..breakdown import Bar, Breakdown
from ..style import PARTS, REST_FILL, Style
from .common import Spec, distinct, rows_of, scale

if TYPE_CHECKING:
    import altair as alt

REST = "the rest"
_LEAST = 0.03
"""A range is named if it takes this fraction of a bar's time."""
_DIVIDED = 0.2
"""A range that takes this fraction of a bar's time is divided into the ranges inside it."""
_ROWS = 13
"""Height of the longest bar, in rows."""
_ONE_LINE = 3
"""With more bars than these, the time is below the name."""
_WIDEST = 58.0
"""Most width of all bars with their labels, in font sizes; longer names are cut."""
_BAR, _GAP, _LETTER, _LINE = 4.0, 0.8, 0.6, 1.15
"""Widths of a bar, of the gap to its labels and of a letter, and the height of a line, in font sizes."""
_WIDEST_BAR = 14.0
"""Width of a bar on a wide page, in font sizes, if there is room."""


def chart(found: Breakdown, style: Style) -> Spec:
    """Return the chart: a stack of ranges for each platform, its labels beside it, name and sum below."""
    import altair as alt

    bars = stacks(found.bars)
    size, lines = style.font_size, 1 if len(bars) <= _ONE_LINE else 2
    room = int((_WIDEST / len(bars) - _BAR - _GAP) / _LETTER)
    labels = [[_label(name, seconds, room, lines) for name, seconds in bar.items()] for bar in bars]
    longest = max(len(line) for column in labels for label in column for line in label.split("\n"))
    beside_bar, thick = (_GAP + _LETTER * longest) * size, _BAR * size
    if style.page and not style.narrow:
        thick = max(thick, min(style.width / len(bars) - size - beside_bar, _WIDEST_BAR * size))
    width = thick + beside_bar
    names = list(dict.fromkeys(name for bar in bars for name in bar if name != REST))
    fill = alt.Fill("name:N", legend=None, scale=scale([*names, REST], [*PARTS[: len(names)], REST_FILL]))
    top = max(sum(bar.values()) for bar in bars) or 1.0
    columns = [
        _column(f"{name} · {units.seconds(sum(bar.values()))}", bar, column, top, fill, style, thick, width)
        for name, bar, column in zip(distinct(one.label for one in found.bars), bars, labels, strict=True)
    ]
    beside = max(1, int(style.width // width)) if style.page else len(bars)
    spec: Spec = alt.concat(*columns, columns=beside, spacing=size).to_dict()
    return {**spec, "config": style.config()}


def _column(
    heading: str,
    bar: dict[str, float],
    labels: Sequence[str],
    top: float,
    fill: "alt.Fill",
    style: Style,
    thick: float,
    width: float,
) -> "alt.LayerChart | alt.FacetChart":
    """Return the chart of one bar.

    Args:
        heading: the text below it.
        bar: time of each part, in seconds.
        labels: of the parts.
        top: time at the upper edge of the chart, in seconds.
        fill: colours of the parts.
        style: the style.
        thick: width of the bar, in pixels.
        width: the same, with the labels.
    """
    import altair as alt

    size, height = style.font_size, style.row * _ROWS
    lines = 1 + max(label.count("\n") for label in labels)
    ends = list(accumulate(bar.values(), initial=0.0))
    middles = [(start + end) / 2 for start, end in pairwise(ends)]
    places = apart(middles, lines * _LINE * size / height * top, top)
    found = rows_of(
        {"name": name, "start": start, "end": end, "middle": middle, "place": place, "label": label}
        for name, (start, end), middle, place, label in zip(
            bar, pairwise(ends), middles, places, labels, strict=True
        )
    )
    time = alt.Scale(domain=[0, top], nice=False)
    edge, text = alt.value(thick), alt.value(thick + _GAP * size)
    return alt.layer(
        found.mark_rect(stroke=style.ink, strokeWidth=size / 20).encode(
            x=alt.value(0), x2=edge, y=alt.Y("start:Q", scale=time, axis=None), y2="end:Q", fill=fill
        ),
        found.mark_rule(color=style.muted, strokeWidth=size / 20).encode(
            x=edge, x2=text, y=alt.Y("middle:Q"), y2="place:Q"
        ),
        found.mark_text(
            align="left",
            baseline="middle",
            lineBreak="\n",
            lineHeight=_LINE * size,
            dx=size / 6,
            dy=-(lines - 1) * _LINE * size / 2,
        ).encode(x=text, y=alt.Y("place:Q"), text="label:N"),
        rows_of([{"heading": heading}])
        .mark_text(align="left", baseline="top", fontWeight="bold", dy=size / 2)
        .encode(x=alt.value(0), y=alt.value(height), text="heading:N"),
    ).properties(width=width, height=height)


def stacks(bars: Sequence[Bar]) -> list[dict[str, float]]:
    """Return the parts of each bar, in seconds, and the rest. The sum is the time of the whole call.

    Long ranges are divided into the ranges inside them. A part is named in all bars or in none.
    """
    inner = {one.name for bar in bars for one, other in pairwise(bar.parts) if other.depth > one.depth}
    opened: set[str] = set()
    while True:
        shares: dict[str, float] = {}
        for bar in bars:
            for name, seconds in _divided(bar, opened).items():
                shares[name] = max(shares.get(name, 0.0), seconds / (bar.seconds or 1.0))
        longer = {name for name, share in shares.items() if share >= _DIVIDED and name in inner} - opened
        if not longer:
            break
        opened |= longer
    named = sorted((name for name in shares if shares[name] >= _LEAST), key=shares.__getitem__)[-len(PARTS) :]
    found = []
    for bar in bars:
        parts = {name: seconds for name, seconds in _divided(bar, opened).items() if seconds > 0}
        shown = {name: seconds for name, seconds in parts.items() if name in named}
        rest = bar.rest_seconds + sum(seconds for name, seconds in parts.items() if name not in named)
        found.append({**shown, REST: rest} if rest > 0 or not shown else shown)
    return found


def _divided(bar: Bar, opened: AbstractSet[str]) -> dict[str, float]:
    """Return the time of each range: of an opened one without the ranges inside it, which follow."""
    found: dict[str, float] = {}
    within = math.inf  # depth of the range around, if it is not opened
    for part in bar.parts:
        if part.depth > within:
            continue
        within = math.inf if part.name in opened else part.depth
        seconds = part.self_seconds if part.name in opened else part.seconds
        found[part.name] = found.get(part.name, 0.0) + seconds
    return found


def apart(places: Sequence[float], gap: float, top: float) -> list[float]:
    """Move ascending places of labels apart, up and then down, to distances of a gap and below the top."""
    found: list[float] = []
    for place in places:
        found.append(max(place, found[-1] + gap if found else gap / 2))
    highest = top - gap / 2
    for number in reversed(range(len(found))):
        found[number] = min(found[number], highest)
        highest = found[number] - gap
    return found


def _label(name: str, seconds: float, room: int, lines: int) -> str:
    """Return name and time of a part; a name that is too long for the room, in letters, is cut."""
    time = units.seconds(seconds)
    most = room if lines > 1 else room - len(time) - 1
    short = name if len(name) <= most else f"{name[: max(most - 1, 1)]}…"
    return f"{short}\n{time}" if lines > 1 else f"{short} {time}"
