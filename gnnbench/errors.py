"""The one exception a user's mistake ends in, and the near misses of a mistyped name."""

import difflib
from collections.abc import Iterable


class UsageError(Exception):
    """Something the user gave or has here cannot be used.

    The message is one line that says what is wrong, where, and what to do about it. The plugin and the
    command show it without a traceback.
    """


def one_line(text: str) -> str:
    """Return a text as it can be shown on one line of any terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """Return the error for a `name` that is none of the `known` ones, naming the nearest of them."""
    names = sorted(known)
    near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
    return UsageError(f"unknown {kind} '{name}': {hint}")
