"""Breaks long lines at words, and long names at their separators."""

import re
import shutil
from dataclasses import dataclass

from ..ground.errors import printable

IN_A_PIPE = 100
"""Characters per line if the output is not a terminal and the variable COLUMNS is not set."""
_UNITS, _VERDICTS = r"(?:[nµm]?s|min|h|[KMG]iB)\b", r"(?<=\d )(?:slower|faster|same|undecided)\b"
_BETWEEN_WORDS = re.compile(rf" (?!{_UNITS})(?!{_VERDICTS})")
"""A space where a line may be broken: not one before a unit, or between a number and its verdict."""
_SEPARATORS = (re.compile(r"(?<=::)|(?=\[)|(?<=[-/])"), re.compile(r"(?<=[_.,:=@])"))
"""Where a name may be broken; the second pattern is used only if the first matches nowhere."""


@dataclass(frozen=True)
class Note:
    """A line of output: a text, or a command with a text that says what it is for."""

    text: str
    command: str = ""

    def __str__(self) -> str:
        return f"{self.text}: {self.command}" if self.command else self.text


def line_width() -> int:
    return shutil.get_terminal_size((IN_A_PIPE, 24)).columns


def wrapped(line: Note | str, width: int | None = None, indent: str = "  ") -> str:
    """Return a line with unprintable characters replaced, broken at words if it is long.

    A word longer than a line, such as a test id, is broken at its separators. A command that does not fit is
    put on a line of its own. That line is not broken, so that the command can be pasted.

    `width`: characters per line; by default, `line_width()`.
    """
    width, note = width or line_width(), line if isinstance(line, Note) else Note(line)
    text = f"{note.text}:" if note.command else note.text
    lines = [_break_line(part, width, indent) for part in printable(text).split("\n")]
    if command := printable(note.command):
        last = f"{lines[-1]} {command}"
        fits = len(last.rpartition("\n")[2]) <= width
        lines[-1:] = [last] if fits else [lines[-1], indent + command]
    return "\n".join(lines)


def _break_line(line: str, width: int, indent: str) -> str:
    lines: list[str] = []
    for word in _BETWEEN_WORDS.split(line):
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            parts = enumerate(fold(word, width - len(indent)))
            lines += [f"{indent if lines or number else ''}{part}" for number, part in parts]
    return "\n".join(part.rstrip() for part in lines)


def fold(name: str, width: int) -> list[str]:
    """Break a name, such as a test id, into lines at its separators: `::`, `[`, `-` and `/`."""
    lines: list[str] = []
    width = max(width, 1)
    while len(name) > width:
        end = next(filter(None, (_last(separators, name, width) for separators in _SEPARATORS)), width)
        lines.append(name[:end])
        name = name[end:]
    return [*lines, name]


def _last(separators: re.Pattern[str], name: str, width: int) -> int:
    """Return the index of the last separator within the first `width` characters; 0 if there is none."""
    matches = separators.finditer(name, 0, width + 1)
    return max((match.start() for match in matches if match.start() <= width), default=0)
