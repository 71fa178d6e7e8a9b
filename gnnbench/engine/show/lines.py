"""Long lines, broken at words."""

import re
import shutil
from collections.abc import Iterator

from ..ground.errors import printable

INDENT = "  "
IN_A_PIPE = 100
"""Characters per line where the output is no terminal, unless the variable COLUMNS says another number."""
_NARROWEST = 10
"""Characters per line, at least."""
_COMMAND = re.compile(
    r"(?<=: )(?:gnnbench [a-z]+|pip install|git checkout|pytest (?=[^;]*--benchmark-compare))"
    r"(?:'[^']*'|[^;'])*"
    r"|(?<=: )for \w+ in .*"
)
"""A command to copy: in a message it follows a colon, and ends with the message or, unless it is a loop, at a
semicolon."""
_SHELL_WORD = re.compile(r"(?:'[^']*'|[^' ])+")
_CONTINUED = " \\"
_SEPARATORS = (re.compile(r"(?<=::)|(?=\[)|(?<=[-/])"), re.compile(r"(?<=[_.,:=@])"))
"""Where a name is broken; the second where the first are missing."""


def line_width() -> int:
    """Return the characters per line of what is printed."""
    return shutil.get_terminal_size((IN_A_PIPE, 24)).columns


def wrapped(text: str, width: int | None = None, indent: str = INDENT) -> str:
    """Replace unprintable characters, and break long lines at words.

    A word longer than a line, such as a test id, is broken at its natural separators. A command that does not
    fit begins a line of its own. If it is longer than a line, it is broken between its words by backslashes,
    as in a shell, so that it can be pasted; its words stay whole.

    `width`: characters per line; None: those of `line_width`.
    """
    return "\n".join(_broken(line, width or line_width(), indent) for line in printable(text).split("\n"))


def _broken(line: str, width: int, indent: str) -> str:
    lines = [""]
    for number, word in enumerate(_words(line)):
        start = f"{lines[-1]} " if number else ""
        if len(start) + len(word) <= width:
            lines[-1] = start + word
        elif len(indent) + len(word) <= width:
            lines.append(indent + word)
        elif " " in word:
            lines.extend(_continued(word, width, indent))
        else:
            first, *rest = folded(word, width - len(indent), width - len(start))
            lines[-1] = start + first
            lines.extend(indent + part for part in rest)
    return "\n".join(part.rstrip() for part in lines)


def _continued(command: str, width: int, indent: str) -> list[str]:
    """Break a command between its words; each line but the last ends with a backslash."""
    first, *others = _SHELL_WORD.findall(command)
    lines = [indent + first]
    for word in others:
        if len(lines[-1]) + len(word) + len(" ") + len(_CONTINUED) <= width:
            lines[-1] += f" {word}"
        else:
            lines[-1] += _CONTINUED
            lines.append(f"{indent}{INDENT}{word}")
    return lines


def _words(line: str) -> Iterator[str]:
    """Yield the words of a line; a command is one."""
    together = _COMMAND.sub(lambda found: found[0].replace(" ", "\0"), line)
    return (word.replace("\0", " ") for word in together.split(" "))


def folded(name: str, width: int, first: int | None = None) -> list[str]:
    """Break a name, such as a test id, at its natural separators: `::`, `[`, `-` and `/`.

    `first`: characters of the first line, which is empty if no part of the name fits; None: `width`.
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
    """Return the place of the last separator at which a name can be broken; 0: there is none."""
    for separators in _SEPARATORS:
        ends = [found.start() for found in separators.finditer(name, 0, max(room, 0) + 1)]
        if last := max((end for end in ends if end <= room), default=0):
            return last
    return 0
