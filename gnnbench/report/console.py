"""What rich formats: the console that writes it, and the text that a command prints."""

import io
from collections.abc import Iterable
from typing import IO, Any

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from ..errors import printable
from .lines import wrapped

UNLIMITED = 10_000
"""Width of a console that is not a terminal: lines are not broken."""


class Console(rich.console.Console):
    """A console of rich on which names from files cannot control the terminal: it replaces their characters.

    Numbers are not highlighted, and `:name:` does not become a picture.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, emoji=False, **options)

    @property
    def file(self) -> IO[str]:
        """The stream itself, past those that only stand before it: rich's own, and the command's."""
        stream = super().file
        return getattr(stream, "rich_proxied_file", stream)

    @file.setter
    def file(self, stream: IO[str]) -> None:
        self._file = stream

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text with its styles; replaced here too, as the width of a column is measured before."""
        return super().render_str(printable(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render something in pieces; rich's own pieces that control the terminal stay as they are."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else piece._replace(text=printable(piece.text))


class Printout:
    """Tables and lines in the order in which they are added.

    Args:
        width: characters per line; None: the output is not a terminal, and no line is broken.
        colour: whether the output shows colours.
    """

    def __init__(self, width: int | None, *, colour: bool) -> None:
        self._text, self._width = io.StringIO(), width
        self._console = Console(file=self._text, width=width or UNLIMITED, force_terminal=colour)

    def show(self, what: RenderableType = "", **options: Any) -> None:
        """Add what rich formats, such as a table; nothing: an empty line."""
        self._console.print(what, **options)

    def say(self, line: str) -> None:
        """Add a line, broken at words where it is longer than the terminal."""
        self._text.write(f"{wrapped(line, self._width)}\n")

    @property
    def text(self) -> str:
        """All of it."""
        return self._text.getvalue()
