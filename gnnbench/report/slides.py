"""Each chart of a view as a slide: large type, one message, readable in black and white."""

import re
import textwrap
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..files import write_whole
from . import drawing
from .pictures import Picture, pictures
from .style import SLIDE
from .verdicts import divided
from .view import View

_LETTERS = 62
"""Letters per line of a title."""
_NOTE_LETTERS = 105
_LONGEST_NAME = 60
_WIDTH, _HEIGHT = 1280, 720
_MARK = "<!-- a slide of gnnbench report -->\n"
"""End of each SVG file, by which old slides are recognised."""


def write(view: View, folder: Path) -> list[Path]:
    """Write an SVG and a PNG for each chart; return the files. Older slides in the folder are removed.

    There is no chart if all benchmarks run the same code.

    Raises:
        UsageError: the view has nothing to draw, or the folder cannot be written.
    """
    shown = list(pictures(view))
    if not shown and not divided(view.benchmarks)[1]:
        raise UsageError(
            f"{view.source} has nothing to draw: give a file with timed benchmarks, or a profile"
        )
    written: list[Path] = []
    for number, picture in enumerate(shown, 1):
        text = drawing.framed(drawing.svg(slide(picture)), _WIDTH, _HEIGHT, SLIDE.paper)
        path = folder / f"{number:02}-{_name(picture)}"
        try:
            written += [path.with_suffix(".svg"), path.with_suffix(".png")]
            write_whole(written[-2], f"{text}\n{_MARK}")
            write_whole(written[-1], drawing.png(text))
        except OSError as error:
            raise _unwritable(folder, error) from None
    try:
        _remove_older(folder, written)
    except OSError as error:
        raise _unwritable(folder, error) from None
    return written


def _remove_older(folder: Path, written: list[Path]) -> None:
    """Remove the slides of an earlier report, and no other file."""
    for path in set(folder.glob("[0-9]*-*.svg")).difference(written):
        if path.is_file() and path.read_bytes().endswith(_MARK.encode()):
            path.with_suffix(".png").unlink(missing_ok=True)
            path.unlink()


def _unwritable(folder: Path, error: OSError) -> UsageError:
    return UsageError(f"the folder {folder} cannot be written ({error.strerror})")


def slide(picture: Picture) -> dict[str, Any]:
    """Return the Vega-Lite spec of a chart with its message as title and its caption below."""
    spec = picture.draw(SLIDE)
    size = SLIDE.font_size
    spec["title"] = {
        "text": textwrap.wrap(picture.message, _LETTERS),
        "subtitle": textwrap.wrap(picture.caption(SLIDE), _NOTE_LETTERS),
        "fontSize": round(1.4 * size),
        "subtitleFontSize": round(0.75 * size),
        "subtitleColor": SLIDE.muted,
        "subtitlePadding": size / 2,
        "offset": size,
        "anchor": "start",
        "frame": "bounds",
    }
    spec["padding"] = 2 * size
    return spec


def _name(picture: Picture) -> str:
    """Return a file name made of the slide's message."""
    letters = picture.message.lower().replace("µ", "u")
    return re.sub(r"[^a-z0-9]+", "-", letters)[:_LONGEST_NAME].strip("-") or picture.place
