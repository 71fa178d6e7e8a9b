"""Checked reading of JSON files and numbers, which may be cut off or written by other programs."""

import json
import reprlib
import sys
from pathlib import Path
from typing import Any, NoReturn

from .errors import UsageError, one_line


def read(path: Path, kind: str, max_bytes: int, remedy: str) -> tuple[Any, bytes]:
    """Return the content of a JSON file, and its raw bytes.

    Args:
        path: the file.
        kind: what the file should be, for messages: `run file`.
        max_bytes: a larger file is refused.
        remedy: what to do when the file is not JSON, for messages.

    Raises:
        UsageError: the file is missing, too large or not complete JSON.
    """
    try:
        size = path.stat().st_size
        if size > max_bytes:
            refuse(path, f"too large: {size:,} bytes; a {kind} has at most {max_bytes:,}", remedy)
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        return json.loads(raw, parse_constant=_no_constant), raw
    except (ValueError, RecursionError) as error:
        refuse(path, f"not JSON, or cut off: {error}", remedy)


def refuse(path: Path, reason: str, remedy: str) -> NoReturn:
    """Raise the error for a file that cannot be used.

    Raises:
        UsageError: always; one line with the file, the reason and the remedy.
    """
    raise UsageError(one_line(f"{path}: {reason}; {remedy}"))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_LARGEST = 1e18
"""Far above any plausible value: 30 years are 1e18 ns."""


def finite(value: Any) -> float:
    """Return a number as a finite float.

    Raises:
        ValueError: it is not a finite number; the message is one short line.
    """
    # Compared, not converted: an integer in JSON may be larger than any float.
    if _is_none(value) or not -sys.float_info.max <= value <= sys.float_info.max:
        raise ValueError(f"{reprlib.repr(value)} is no number")
    return float(value)


def positive(value: Any) -> float:
    """Return a positive number, such as a time or a ratio, as a float.

    Raises:
        ValueError: it is not between 1e-18 and 1e18; the message is one short line.
    """
    if _is_none(value) or not 1 / _LARGEST < value < _LARGEST:
        raise ValueError(f"{reprlib.repr(value)} is no time or ratio")
    return float(value)


def _is_none(value: Any) -> bool:
    return isinstance(value, bool) or not isinstance(value, int | float)
