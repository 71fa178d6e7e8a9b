"""A chart as a slide: large type, one message, readable in black and white."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ..drive.result import SHORT_COMMIT, Result
from ..ground import files
from . import charts
from .names import in_lines
from .pictures import Picture
from .style import SLIDE

_LARGE = 34
"""Font size of the title."""
_WIDTH_OF_LETTER = 0.52
"""Of a title, in font sizes."""
_LINE = 1.3
"""Height of a line, in font sizes."""
_FEWEST_ROWS = 3
_HEIGHT = 720
_SPEAKING = ("processor", "GPU", "system", "libraries")
"""Facts that need no name."""


def save(picture: Picture, last: str, path: Path) -> tuple[Path, Path]:
    """Write a chart as SVG and PNG; return the files."""
    text = slide(picture, last)
    svg, png = (path.with_name(f"{path.name}.{kind}") for kind in ("svg", "png"))
    files.save(svg, f"{text}\n")
    files.save(png, charts.png(text))
    return svg, png


def footer(facts: Iterable[tuple[str, str]], result: Result | None = None) -> str:
    """Return both sides, machine and versions as one text."""
    known = dict(facts)
    both = []
    if result:
        commit = known.pop("commit", "")
        newer = result.head.title or commit[:SHORT_COMMIT] or "this run"
        both = [f"{result.base.title} → {newer}"]
    return " · ".join(
        (*both, *(value if name in _SPEAKING else f"{name} {value}" for name, value in known.items()))
    )


def slide(picture: Picture, last: str) -> str:
    """Return a chart of as many rows as fit, as SVG with message, caption and a last line above it."""
    for most in range(SLIDE.most_rows, _FEWEST_ROWS - 1, -1):
        style = replace(SLIDE, most_rows=most)
        title = {
            "text": _lines(picture.message, _LARGE),
            "subtitle": [*_lines(picture.caption(style), SLIDE.font_size), *_lines(last, SLIDE.font_size)],
            "anchor": "start",
            "frame": "bounds",
            "offset": SLIDE.font_size,
            "color": SLIDE.ink,
            "fontSize": _LARGE,
            "lineHeight": _LINE * _LARGE,
            "subtitlePadding": SLIDE.font_size / 2,
            "subtitleColor": SLIDE.muted,
            "subtitleFontSize": SLIDE.font_size,
            "subtitleLineHeight": _LINE * SLIDE.font_size,
        }
        drawn = charts.svg({**picture.draw(style), "title": title})
        height = float(drawn.partition('height="')[2].partition('"')[0])
        if height <= _HEIGHT or picture.rows < most:
            break
    return drawn


def _lines(text: str, size: int) -> list[str]:
    return in_lines(text, int(SLIDE.whole / (_WIDTH_OF_LETTER * size))) if text else []
