"""Each chart of a view as a slide: large type, one message, readable in black and white."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ..drive.result import SHORT_COMMIT, Side
from ..ground.errors import UsageError
from ..ground.files import write_whole
from . import drawing
from .drawing import Line
from .names import clean, in_lines
from .pictures import Picture
from .style import SLIDE

_LARGE, _SMALL = 34, 24
"""Font sizes of the title, and of caption and footer."""
_WIDTH_OF_LETTER = 0.52
"""Of a title, in font sizes."""
_FEWEST_ROWS = 3
_MARGIN = 40
_SPEAKING = ("processor", "GPU", "system", "libraries")
"""Facts that need no name."""
_LONGEST_NAME = 60
_LONGEST_END = 92
"""Characters of the last line."""
_WIDTH, _HEIGHT = 1280, 720
_MARK = "<!-- a slide of gnnbench report -->\n"
"""End of each SVG file, by which old slides are recognised."""


def write(pictures: Iterable[Picture], last: str, folder: Path) -> list[Path]:
    """Write an SVG and a PNG for each chart; return the files. Older slides in the folder are removed."""
    written: list[Path] = []
    try:
        for number, picture in enumerate(pictures, 1):
            written += save(picture, last, folder / f"{number:02}-{_name(picture)}", _MARK)
        _remove_older(folder, written)
    except OSError as error:
        raise UsageError(f"the folder {folder} cannot be written ({error.strerror})") from None
    return written


def save(picture: Picture, last: str, path: Path, mark: str = "") -> tuple[Path, Path]:
    """Write a chart as SVG and PNG; return the files."""
    text = slide(picture, last)
    svg, png = (path.with_name(f"{path.name}.{kind}") for kind in ("svg", "png"))
    write_whole(svg, f"{text}\n{mark}")
    write_whole(png, drawing.png(text))
    return svg, png


def footer(facts: Iterable[tuple[str, str]], sides: tuple[Side, Side] | None = None) -> str:
    """Return both sides, machine and versions as one text."""
    known = dict(facts)
    both = []
    if sides:
        base, head = sides
        newer = head.title or known.get("commit", "")[:SHORT_COMMIT] or "this run"
        both = [f"{base.title} → {newer}"]
        known.pop("commit", None)
    return " · ".join(
        (*both, *(value if name in _SPEAKING else f"{name} {value}" for name, value in known.items()))
    )


def _remove_older(folder: Path, written: list[Path]) -> None:
    """Remove the slides of an earlier report, and no other file."""
    for path in set(folder.glob("[0-9]*-*.svg")).difference(written):
        if path.is_file() and path.read_bytes().endswith(_MARK.encode()):
            path.with_suffix(".png").unlink(missing_ok=True)
            path.unlink()


def slide(picture: Picture, last: str) -> str:
    """Return a chart as SVG with message and caption above, and a text below.

    It has as many rows as there is room for.
    """
    title = _lines(picture.message, SLIDE.ink, _LARGE, weight="bold")
    end = _lines(clean(last, _LONGEST_END), SLIDE.muted, _SMALL)[:1]
    for most in range(SLIDE.most_rows, _FEWEST_ROWS - 1, -1):
        style = replace(SLIDE, most_rows=most)
        above = [*title, *_lines(picture.caption(style), SLIDE.muted, _SMALL)]
        used = sum(drawing.LINE * line.size for line in (*above, *end))
        chart = drawing.svg(picture.draw(style))
        fits = drawing.scale_of(chart, _WIDTH - 2 * _MARGIN, _HEIGHT - 2.5 * _MARGIN - used)
        if fits >= 1 or picture.rows < most:
            break
    return drawing.framed(chart, above, end, (_WIDTH, _HEIGHT, _MARGIN), SLIDE.paper)


def _lines(text: str, colour: str, size: int, weight: str = "normal") -> list[Line]:
    """Break a text into lines, but not between a number and what it counts."""
    text = re.sub(r"(?<=\d) (?=[^\W\d])", "\N{NO-BREAK SPACE}", text)
    letters = int((_WIDTH - 2 * _MARGIN) / (_WIDTH_OF_LETTER * size))
    return [Line(line, colour, size, weight) for line in in_lines(text, letters)] if text else []


def _name(picture: Picture) -> str:
    """Return a file name made of the slide's message."""
    letters = picture.message.lower().replace("µ", "u")
    return re.sub(r"[^a-z0-9]+", "-", letters)[:_LONGEST_NAME].strip("-") or picture.place
