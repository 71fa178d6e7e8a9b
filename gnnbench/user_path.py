"""Paths as users write them."""

from pathlib import Path

from gnnbench.errors import UsageError


def user_path(text: str) -> Path:
    """Return the path that a user means, with `~` as in a shell.

    Raises:
        UsageError: it is below a home that is not known.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise UsageError(f"{text}: there is no such home folder; write the whole path") from None
