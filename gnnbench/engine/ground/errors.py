"""The exception for mistakes that a user can correct, and hints for a mistyped name."""

import difflib
import unicodedata
from collections.abc import Iterable

_INSTEAD = ord("?")
_NEAR = 0.6
"""Similarity of a suggested name, by difflib, at least."""
_AS_NEAR = 0.1
"""Another name is suggested too if it is less similar by at most this."""


class UsageError(Exception):
    """An input, a file or the installation cannot be used.

    The message is one line that says what is wrong, where, and what to do; `details` are further lines, such
    as the output of a process. Unprintable characters are replaced. The plugin and the command show it
    without a traceback. As most functions may raise it, few docstrings say so.
    """

    def __init__(self, message: str, *details: str) -> None:
        super().__init__("\n".join(map(one_line, (message, *details))))


class _Printable(dict[int, int]):
    """Maps a character to itself, or to `?` if it could control a terminal; decides once for each."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        # Python calls the no-break space unprintable.
        shown = character.isprintable() or unicodedata.category(character) == "Zs"
        return self.setdefault(code, code if shown else _INSTEAD)


_IN_LINE = _Printable()
_IN_TEXT = _Printable({ord(character): ord(character) for character in "\n\t"})


def one_line(text: str) -> str:
    """Return a text with each unprintable character, line breaks included, replaced by `?`."""
    return text.translate(_IN_LINE)


def printable(text: str) -> str:
    """Return a text with each unprintable character replaced by `?`, except line breaks and tabs."""
    return text.translate(_IN_TEXT)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """Return the error for a `name` that is not `known`.

    It suggests the most similar name, and others that are about as similar; or it lists all, if none is near.
    """
    names = sorted(known)
    near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=_NEAR)
    scores = [difflib.SequenceMatcher(None, candidate, name.lower()).ratio() for candidate in near]
    near = [candidate for candidate, score in zip(near, scores, strict=True) if score > scores[0] - _AS_NEAR]
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
    return UsageError(f"unknown {kind} '{name}': {hint}")
