"""Writes documents as text for a terminal or a pipe."""

import io
from dataclasses import dataclass
from itertools import compress
from typing import IO, Any

import rich.console
from rich.cells import cell_len
from rich.console import ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from ..interfaces import Writer
from .document import Column, Document, Heading, Table
from .lines import Note, fold, line_width, wrapped
from .names import clean

_STYLES = {
    "heading": "bold",
    "slower": "red",
    "different output": "red",
    "accepted": "cyan",
    "faster": "green",
    "undecided": "yellow",
    "incomparable": "yellow",
    "ignored": "dim",
    "fastest": "bold",
}
_SHORT = ("dir", "on")
"""Titles of columns whose names are never broken."""
_FEWEST = 10
"""Minimum width of a column of names, in characters."""


class Console(rich.console.Console):
    """A rich console without highlighting. Callers must remove control characters before printing."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, emoji=False, **options)

    @property
    def file(self) -> IO[str]:
        """The stream itself, not the proxy that rich or the command `gnnbench` puts in its place."""
        stream = super().file
        return getattr(stream, "rich_proxied_file", stream)

    @file.setter
    def file(self, stream: IO[str]) -> None:
        self._file = stream


class FoldedName:
    """A name in a cell, broken at its separators if the column is narrow."""

    def __init__(self, name: str) -> None:
        self._name = clean(name)

    def __rich_console__(self, console: rich.console.Console, options: ConsoleOptions) -> RenderResult:
        for line in fold(self._name, options.max_width):
            yield Text(line, overflow="fold")

    def __rich_measure__(self, console: rich.console.Console, options: ConsoleOptions) -> Measurement:
        """Return the smallest and the largest width that the column may have."""
        length = cell_len(self._name)
        return Measurement(min(length, _FEWEST), length)


@dataclass(frozen=True)
class Terminal(Writer):
    """Writes documents for a terminal, or for a pipe."""

    width: int | None = None
    """Characters per line. None for `line_width()`."""
    colour: bool = False

    def write(self, document: Document) -> str:
        out = io.StringIO()
        console = Console(file=out, width=self.width or line_width(), force_terminal=self.colour)
        for block in document:
            match block:
                case Table():
                    console.print()
                    console.print(Text(clean(block.heading), "bold"))
                    console.print(_grid(block))
                case Heading():
                    console.print()
                    console.print(Text(wrapped(block.text, self.width), "bold"), soft_wrap=True)
                case Note():
                    out.write(f"{wrapped(block, self.width)}\n")
        return out.getvalue()


def _grid(table: Table) -> RichTable:
    has_titles = any(column.title for column in table.columns)
    grid = RichTable(box=None, pad_edge=False, padding=(0, 1, 0, 0), show_header=has_titles)
    for column in table.columns:
        one_line = column.kind not in ("name", "text") or column.title in _SHORT
        grid.add_column(
            clean(column.title), justify="right" if column.is_number else "left", no_wrap=one_line
        )
    once, names_above = [column.once for column in table.columns], None
    for row in table.rows:
        names = list(compress(row, once))
        is_repeated = names == names_above
        cells = [None if is_repeated and skip else value for value, skip in zip(row, once, strict=True)]
        grid.add_row(*map(_cell, table.columns, cells))
        names_above = names
    return grid


def _cell(column: Column, value: Any) -> Text | FoldedName:
    """Return a cell for rich: a name that can be broken, or a text in its colour."""
    content = column.shown(value)
    if column.kind == "name":
        return FoldedName(content.text)
    return Text(clean(content.text), _STYLES.get(content.style, ""), overflow="fold")
