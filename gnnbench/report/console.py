"""The console that writes every table and line that rich formats."""

from collections.abc import Iterable
from typing import IO, Any

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from ..errors import printable

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
