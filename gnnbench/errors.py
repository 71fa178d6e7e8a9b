"""The exception for mistakes that a user can correct, and hints for a mistyped name."""

import difflib
from collections.abc import Iterable


class UsageError(Exception):
    """An input, a file or the installation cannot be used.

    The message is one line that says what is wrong, where, and what to do. The plugin and the command show
    it without a traceback.
    """


def one_line(text: str) -> str:
    """Return a text with each unprintable character, line breaks included, replaced by `?`."""
    return "".join(character if character.isprintable() else "?" for character in text)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """Return the error for a `name` that is not `known`; it suggests up to three similar names."""
    names = sorted(known)
    near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
    return UsageError(f"unknown {kind} '{name}': {hint}")
