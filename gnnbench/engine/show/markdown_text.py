"""Writes documents as GitHub's Markdown, with names and texts quoted so that GitHub shows them unchanged.

Outside code, GitHub turns mentions, issue numbers, commit hashes and URLs into links, :emoji: into pictures
and $...$ into formulas. To prevent this, everything but plain English words and numbers is written as code.
"""

import re
import unicodedata
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from ..interfaces import Writer
from .document import Column, Document, Heading, Table
from .lines import Note, fold
from .wording import CHANGED, OTHER

NAME_CHARACTERS = 200
NOTE_CHARACTERS = 400
CELL_CHARACTERS = 60
"""A longer name in a table has several lines, so that the numbers next to it stay in view."""
_UNBREAKABLE = str.maketrans(" -", "\N{NO-BREAK SPACE}\N{NON-BREAKING HYPHEN}")

_WORD = re.compile(r"""[("']?[A-Za-z]{1,40}(?:['-][A-Za-z]{1,40})*[)"']?[.,;:!?]?""")
_NUMBER = re.compile(r"\(?[+-]?\d{1,6}(?:(?:\.\d{1,6})?[%x]?[,;:]?|\.\d{1,6}[%x]?\)?[.,;:]?|[%x]\)?[.,;:]?)")
_CLOSING = re.compile(r"\d{1,6}\)[.,;:]?")
"""A number and `)`. Plain text, except at the start, where it would begin a numbered list."""
_HASH = re.compile(r"\W*[0-9a-fA-F]{7,}\W*")
_RIGHT_TO_LEFT = ("R", "AL", "AN")
_RUN = re.compile("`+")
_EMPTY_LINES = re.compile("\n{3,}")
_PARTS = re.compile("(?<=[:;]) ")
"""The space after a colon or semicolon: the parts around it become separate pieces of code."""


class Markdown(Writer):
    """Writes documents in Markdown."""

    def write(self, document: Document) -> str:
        """Return the text, with an empty line between blocks."""
        text = ""
        for block in document:
            match block:
                case Table():
                    lines = [code(block.heading), ""] if block.heading else []
                    text += "\n".join(("\n", *lines, *table(block), "\n"))
                case Heading():
                    text += f"\n\n#### {prose(block.text)}\n\n"
                case Note():
                    text += f"{_item(block)}\n"
        return _EMPTY_LINES.sub("\n\n", text).strip("\n") + "\n"


def _item(note: Note) -> str:
    command = f": {code(note.command, most=len(note.command))}" if note.command else ""
    return f"- {prose(note.text)}{command}" if note.text else ""


def table(content: Table) -> list[str]:
    return [
        _row(prose(column.title) for column in content.columns),
        f"|{'|'.join('---:' if column.is_number else '---' for column in content.columns)}|",
        *(_row(map(_cell, content.columns, row)) for row in content.rows),
    ]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(column: Column, value: Any) -> str:
    """Return a cell as Markdown: names are code, verdicts on changes are bold."""
    content = column.shown(value)
    text = content.text
    if column.kind in ("name", "text") and text:
        return cell(text) if column.kind == "name" else prose(text).replace("|", "\\|")
    if column.is_number:
        text = text.translate(_UNBREAKABLE)
    return f"**{text}**" if content.style in (*CHANGED, OTHER) else text


def code(text: str, *, in_table: bool = False, most: int = NAME_CHARACTERS) -> str:
    visible = _shortened(_visible(text), most)
    if in_table:
        # In a table, a backslash before a bar escapes the bar even within code.
        visible = visible.replace("\\|", "\\\\x7c").replace("|", "\\|")
    runs = {len(run) for run in _RUN.findall(visible)}
    fence = "`" * next(length for length in range(1, len(runs) + 2) if length not in runs)
    space = " " if not visible.strip() or visible[0] in "` " or visible[-1] in "` " else ""
    return f"{fence}{space}{visible}{space}{fence}"


def cell(name: str) -> str:
    """Return a name as inline code for a cell of a table; a long name has several lines."""
    visible = _shortened(_visible(name), NAME_CHARACTERS)
    return "<br>".join(code(part, in_table=True) for part in fold(visible, CELL_CHARACTERS))


def prose(text: str) -> str:
    """Return a sentence on one line, in which everything but words and numbers is inline code."""
    visible = _shortened(_visible(" ".join(text.split())), NOTE_CHARACTERS)
    words = [word for word in visible.split(" ") if word]
    plain = [_is_plain(word) or bool(index and _CLOSING.fullmatch(word)) for index, word in enumerate(words)]
    groups = groupby(zip(plain, words, strict=True), key=lambda pair: pair[0])
    parts: list[str] = []
    for is_plain, group in groups:
        joined = " ".join(word for _, word in group)
        for piece in [joined] if is_plain else _PARTS.split(joined):
            in_brackets = any(part.count("(") > part.count(")") for part in parts[-1:])
            parts.append(piece if is_plain else _quoted(piece, ",;:)" if in_brackets else ",;:"))
    return " ".join(parts)


def _quoted(text: str, punctuation: str) -> str:
    """Return words as inline code, which excludes the punctuation at their end."""
    words = text.rstrip(punctuation) or text
    return code(words, most=len(text)) + text[len(words) :]


def _is_plain(word: str) -> bool:
    return bool(_WORD.fullmatch(word) or _NUMBER.fullmatch(word)) and not _HASH.fullmatch(word)


def _visible(text: str) -> str:
    """Escape characters that are invisible, such as control characters, or that change their neighbours."""
    return "".join(
        character if _is_visible(character) else character.encode("unicode_escape").decode()
        for character in unicodedata.normalize("NFC", text)
    )


def _is_visible(character: str) -> bool:
    """Return whether a character is shown by itself, from left to right."""
    return (
        character.isprintable()
        and unicodedata.bidirectional(character) not in _RIGHT_TO_LEFT
        and not unicodedata.category(character).startswith("M")
    )


def _shortened(text: str, most: int) -> str:
    """Return a text; if it is longer than `most` characters, `…` replaces its middle."""
    if len(text) <= most:
        return text
    end = (most - 1) // 2
    return f"{text[: most - 1 - end]}…{text[-end:]}"
