"""The exception for mistakes that a user can correct, and hints for a mistyped name."""

import difflib
import re
import unicodedata
from collections.abc import Iterable

from . import units

_NEAR = 0.6
"""Least similarity, by difflib, of a suggested name."""
_MOST_NAMES = 20


class UsageError(Exception):
    """An input, a file or the installation cannot be used.

    The message is one line that says what is wrong, where, and what to do; `details` are further lines, such
    as the output of a process. Unprintable characters are replaced. Users see no traceback. Most functions
    may raise it, so few docstrings mention it.
    """

    def __init__(self, message: str, *details: str) -> None:
        super().__init__("\n".join(map(one_line, (message, *details))))


def one_line(text: str) -> str:
    """Return a text with each unprintable character, line breaks included, replaced by `?`."""
    return re.sub(r"[^ -~]", _harmless, text)


def printable(text: str) -> str:
    """Return a text with each unprintable character replaced by `?`, except line breaks and tabs."""
    return re.sub(r"[^ -~\n\t]", _harmless, text)


def _harmless(match: re.Match[str]) -> str:
    """Return a character, or `?` if it could control a terminal."""
    # Python calls the no-break space unprintable.
    return match[0] if match[0].isprintable() or unicodedata.category(match[0]) == "Zs" else "?"


def unknown_name(kind: str, name: str, candidates: Iterable[str]) -> UsageError:
    """Return the error for a name that is no candidate; it suggests a similar candidate, or lists some."""
    names = sorted(candidates)
    matches = difflib.get_close_matches(name.lower(), names, n=1, cutoff=_NEAR)
    hint = f": did you mean {matches[0]}?" if matches else f"; known: {units.listed(names, _MOST_NAMES)}"
    return UsageError(f"unknown {kind} '{name}'{hint}")
