"""Each chart of a view as a slide: large type, one message, readable in black and white."""

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..ground.errors import UsageError
from ..ground.files import write_whole
from . import drawing
from .pictures import Picture
from .style import SLIDE

_LETTERS = 62
"""Letters per line of a title."""
_NOTE_LETTERS = 105
"""Letters per line of a caption or footer."""
_SMALL = 20
"""Their font size."""
_SPEAKING = ("processor", "GPU", "system", "libraries")
"""Facts that need no name."""
_LONGEST_NAME = 60
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
    """Write a chart as SVG and PNG; return the files.

    Args:
        path: the files' path without the suffix.
    """
    text = drawing.framed(drawing.svg(slide(picture, last)), _WIDTH, _HEIGHT, SLIDE.paper)
    svg, png = (path.with_name(f"{path.name}.{kind}") for kind in ("svg", "png"))
    write_whole(svg, f"{text}\n{mark}")
    write_whole(png, drawing.png(text))
    return svg, png


def footer(facts: Iterable[tuple[str, str]]) -> str:
    """Return machine and versions as one text, which can be wrapped between facts only."""
    text = " · ".join(value if name in _SPEAKING else f"{name} {value}" for name, value in facts)
    return re.sub("(?<!·) (?!·)", "\N{NO-BREAK SPACE}", text)


def _remove_older(folder: Path, written: list[Path]) -> None:
    """Remove the slides of an earlier report, and no other file."""
    for path in set(folder.glob("[0-9]*-*.svg")).difference(written):
        if path.is_file() and path.read_bytes().endswith(_MARK.encode()):
            path.with_suffix(".png").unlink(missing_ok=True)
            path.unlink()


def slide(picture: Picture, last: str) -> dict[str, Any]:
    """Return the Vega-Lite spec of a chart with message and caption above, and a text below."""
    chart = picture.draw(SLIDE)
    size = SLIDE.font_size
    small = {"fontSize": _SMALL, "fontWeight": "normal", "color": SLIDE.muted}
    spec: dict[str, Any] = {
        name: chart.pop(name) for name in ("$schema", "config", "datasets") if name in chart
    }
    if last:
        text = textwrap.wrap(last, _NOTE_LETTERS)
        chart["title"] = {"text": text, "orient": "bottom", "offset": size, **small}
    title = {
        "text": textwrap.wrap(picture.message, _LETTERS),
        "subtitle": textwrap.wrap(picture.caption(SLIDE), _NOTE_LETTERS),
        "fontSize": round(1.4 * size),
        "subtitleFontSize": _SMALL,
        "subtitleColor": SLIDE.muted,
        "subtitlePadding": size / 2,
        "offset": size,
        "anchor": "start",
        "frame": "bounds",
    }
    return {**spec, "title": title, "padding": 1.25 * size, "vconcat": [chart]}


def _name(picture: Picture) -> str:
    """Return a file name made of the slide's message."""
    letters = picture.message.lower().replace("µ", "u")
    return re.sub(r"[^a-z0-9]+", "-", letters)[:_LONGEST_NAME].strip("-") or picture.place
