"""JSON that may be cut off, or come from elsewhere: files and numbers that are sound, or are refused."""

import json
import reprlib
import sys
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


_LARGEST = 1e18
"""Thirty years in nanoseconds."""


def finite(value: Any) -> float:
    """Return a finite number.

    Raises:
        ValueError: it is none; the message is one short line.
    """
    # A comparison, as a whole number of JSON may be larger than any float.
    if _is_none(value) or not -sys.float_info.max <= value <= sys.float_info.max:
        raise ValueError(f"{reprlib.repr(value)} is no number")
    return float(value)


def positive(value: Any) -> float:
    """Return a time, a ratio or another number with a logarithm.

    Raises:
        ValueError: it is none, or out of any reason; the message is one short line.
    """
    if _is_none(value) or not 1 / _LARGEST < value < _LARGEST:
        raise ValueError(f"{reprlib.repr(value)} is no time or ratio")
    return float(value)


def _is_none(value: Any) -> bool:
    return isinstance(value, bool) or not isinstance(value, int | float)
