"""A file of JSON that may be cut off, or another's: read whole, or refused in one line."""

import json
from pathlib import Path
from typing import Any, NoReturn

from .errors import UsageError, one_line


def read(path: Path, kind: str, max_bytes: int, remedy: str) -> tuple[Any, bytes]:
    """Return a file's content, and the bytes that it was read from.

    Args:
        path: the file.
        kind: what it should be: `run file`.
        max_bytes: of a file that is read.
        remedy: what to do about one that is no JSON.

    Raises:
        UsageError: it is missing, too large, or cut off.
    """
    try:
        size = path.stat().st_size
        if size > max_bytes:
            refuse(path, f"{size:,} bytes, and a {kind} has at most {max_bytes:,}", remedy)
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        return json.loads(raw, parse_constant=_no_constant), raw
    except (ValueError, RecursionError) as error:
        refuse(path, f"not JSON, or cut off: {error}", remedy)


def refuse(path: Path, reason: str, remedy: str) -> NoReturn:
    """Say why a file cannot be used, and what to do.

    Raises:
        UsageError: always.
    """
    raise UsageError(one_line(f"{path}: {reason}; {remedy}"))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
