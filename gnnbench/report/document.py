"""A document of tables and notes, and how it is written: in a terminal, or as GitHub's Markdown.

Who makes a document gives values; each writer cleans names and texts, which may come from files.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Literal

from rich.table import Table as RichTable
from rich.text import Text

from .. import units
from .console import Printout
from .labels import Folded
from .markdown_text import cell, code, prose
from .names import clean
from .verdicts import styled

Kind = Literal["name", "text", "time", "ratio", "interval", "verdict"]
_SHOWN: Mapping[Kind, Callable[[Any], str]] = {
    "time": units.seconds,
    "ratio": lambda value: units.ratio(value[0], changed=value[1]),
    "interval": lambda bounds: units.interval(*bounds),
}
"""How a value is shown. A ratio comes with whether it surely differs from 1, an interval is its bounds."""
_SHORT = ("dir", "on")
"""Columns of names that are never broken."""
_LONGEST_NOTE = 2000


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    kind: Kind = "name"
    once: bool = False
    """Whether a terminal leaves it empty where all such columns repeat the row above."""

    @property
    def is_number(self) -> bool:
        """Whether it is aligned right."""
        return self.kind in ("time", "ratio", "interval")


@dataclass(frozen=True)
class Table:
    """A table; None stands for an empty cell."""

    heading: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    sentence: str = ""
    """What the table has, if its heading is none."""


@dataclass(frozen=True)
class Document:
    """Tables, and notes below them."""

    tables: Sequence[Table]
    notes: Sequence[str]


def _text(column: Column, value: Any) -> str:
    return "" if value is None else str(_SHOWN.get(column.kind, str)(value))


def terminal(document: Document, width: int | None, *, colour: bool) -> str:
    """Write a document for a terminal.

    Args:
        document: the document.
        width: characters per line; None: the output is not a terminal, and no line is broken.
        colour: whether the output shows colours.
    """
    printout = Printout(width, colour=colour)
    for table in document.tables:
        printout.show()
        printout.show(Text(clean(table.sentence or table.heading), "bold"))
        header = not table.sentence
        drawn = RichTable(box=None, pad_edge=False, padding=(0, 1, 0, 0), show_header=header)
        for column in table.columns:
            whole = column.is_number or column.kind == "verdict" or column.title in _SHORT
            right = column.is_number and header
            drawn.add_column(clean(column.title), justify="right" if right else "left", no_wrap=whole)
        once, above = [column.once for column in table.columns], None
        for row in table.rows:
            names = list(compress(row, once))
            shown = [
                None if names == above and hide else value for value, hide in zip(row, once, strict=True)
            ]
            drawn.add_row(*map(_styled, table.columns, shown))
            above = names
        printout.show(drawn)
    for note in document.notes:
        printout.say(clean(note, _LONGEST_NOTE))
    return printout.text


def _styled(column: Column, value: Any) -> str | Folded:
    text = _text(column, value)
    if column.kind == "verdict":
        return styled(text) if text else ""
    return Folded(clean(text)) if column.kind in ("name", "text") else text


def markdown(document: Document) -> str:
    """Write a document as GitHub's Markdown."""
    lines: list[str] = []
    for table in document.tables:
        if table.sentence:
            lines += [f"{table.sentence.capitalize()}:", ""]
        elif table.heading:
            lines += [code(table.heading), ""]
        lines.append(_row(prose(column.title) for column in table.columns))
        lines.append(f"|{'|'.join('---:' if column.is_number else '---' for column in table.columns)}|")
        for row in table.rows:
            cells = [(column, _text(column, value)) for column, value in zip(table.columns, row, strict=True)]
            lines.append(
                _row(cell(text) if column.kind == "name" and text else text for column, text in cells)
            )
        lines.append("")
    return "\n".join([*lines, *(f"- {prose(note)}" for note in document.notes)]) + "\n"


def _row(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"
