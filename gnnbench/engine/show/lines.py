"""Long lines, broken at words."""

import re
import shutil
from dataclasses import dataclass

from ..ground.errors import printable

INDENT = "  "
IN_A_PIPE = 100
"""Characters per line if the output is not a terminal and the variable COLUMNS is not set."""
_NARROWEST = 10
"""Characters per line, at least."""
_UNITS, _VERDICTS = r"(?:[nµm]?s|min|h|[KMG]iB)\b", r"(?<=\d )(?:slower|faster|same|undecided)\b"
_BETWEEN_WORDS = re.compile(rf" (?!{_UNITS})(?!{_VERDICTS})")
"""A space, except before a unit or between a number and its verdict."""
_SEPARATORS = (re.compile(r"(?<=::)|(?=\[)|(?<=[-/])"), re.compile(r"(?<=[_.,:=@])"))
"""Where a name is broken; the second pattern applies if the first matches nowhere."""


@dataclass(frozen=True)
class Note:
    """A line for a reader: a text, or a command and what it does."""

    text: str
    command: str = ""

    def __str__(self) -> str:
        return f"{self.text}: {self.command}" if self.command else self.text


def line_width() -> int:
    """Return the characters per line of what is printed."""
    return shutil.get_terminal_size((IN_A_PIPE, 24)).columns


def wrapped(line: Note | str, width: int | None = None, indent: str = INDENT) -> str:
    """Replace unprintable characters, and break long lines at words.

    A word longer than a line, such as a test id, is broken at its natural separators. A command that does not
    fit has a line of its own, which stays whole so that it can be pasted.

    `width`: characters per line; by default, `line_width()`.
    """
    width, note = width or line_width(), line if isinstance(line, Note) else Note(line)
    text = f"{note.text}:" if note.command else note.text
    lines = [_broken(part, width, indent) for part in printable(text).split("\n")]
    if command := printable(note.command):
        last = f"{lines[-1]} {command}"
        fits = len(last.rpartition("\n")[2]) <= width
        lines[-1:] = [last] if fits else [lines[-1], indent + command]
    return "\n".join(lines)


def _broken(line: str, width: int, indent: str) -> str:
    lines = [""]
    for number, word in enumerate(_BETWEEN_WORDS.split(line)):
        start = f"{lines[-1]} " if number else ""
        if len(start) + len(word) <= width:
            lines[-1] = start + word
        elif len(indent) + len(word) <= width:
            lines.append(indent + word)
        else:
            first, *rest = folded(word, width - len(indent), width - len(start))
            lines[-1] = start + first
            lines.extend(indent + part for part in rest)
    return "\n".join(part.rstrip() for part in lines)


def folded(name: str, width: int, first: int | None = None) -> list[str]:
    """Break a name, such as a test id, at its natural separators: `::`, `[`, `-` and `/`.

    `first`: characters of the first line, by default `width`; the line is empty if nothing fits.
    """
    lines: list[str] = []
    width = max(width, _NARROWEST)
    room = width if first is None else first
    while len(name) > room:
        end = _end(name, room) or (room if room >= width else 0)
        lines.append(name[:end])
        name, room = name[end:], width
    return [*lines, name]


def _end(name: str, room: int) -> int:
    """Return the place of the last separator at which a name can be broken; 0 if there is none."""
    for separators in _SEPARATORS:
        ends = [match.start() for match in separators.finditer(name, 0, max(room, 0) + 1)]
        if last := max((end for end in ends if end <= room), default=0):
            return last
    return 0
