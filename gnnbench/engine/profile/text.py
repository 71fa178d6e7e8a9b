"""Tables and numbers as text, for terminals of 80 columns: how a kind of profile is shown."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..ground import units

WIDTH = 80


def table(columns: Mapping[str, int], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table.

    Args:
        columns: width of each column by its heading; negative: its texts are on the left, and cut.
    """
    return [" ".join(map(_cell, row, columns.values())).rstrip() for row in (tuple(columns), *rows)]


def page(lines: Iterable[str], *notes: str) -> str:
    """Return lines and the notes below them, which are wrapped."""
    return "\n".join([*lines, *(textwrap.fill(note, WIDTH) for note in notes)])


def cut(text: str, width: int) -> str:
    """Shorten a text at its end."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def cut_start(text: str, width: int) -> str:
    """Shorten a text at its beginning."""
    return text if len(text) <= width else f"…{text[1 - width :]}"


def nanoseconds(value: float) -> str:
    """Write a time that is given in nanoseconds."""
    return units.seconds(value / 1e9)


def first_call(section: Mapping[str, Any]) -> str:
    """Return a sentence on the first call of a section with `cold_ns`."""
    return f"The first call, {nanoseconds(section['cold_ns'])}, was not profiled."


def _cell(text: str, width: int) -> str:
    return f"{text:>{width}}" if width > 0 else f"{cut(text, -width):<{-width}}"
