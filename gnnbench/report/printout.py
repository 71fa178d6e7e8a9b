"""What a command prints: tables and lines, as one text."""

import io
from typing import Any

from rich.console import RenderableType

from .console import UNLIMITED, Console
from .lines import wrapped


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
