"""Checked reading of JSON files and numbers, which may be cut off or written by other programs."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from .errors import UsageError

DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)
"""What reading a file's content raises if the content departs from its format."""
_LONGEST_REASON = 300
"""Characters."""
NAMES = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}
"""What stands for the numbers that JSON lacks: the texts that Python, and so a test id, has for them."""
KEY = "gnnbench"
"""Of gnnbench's part of a file of pytest-benchmark."""


def read(path: Path, remedy: str) -> Any:
    """Return the content of a JSON file.

    NaN and Infinity, which JSON lacks and Python writes, become texts; see NAMES. `remedy` says what to do
    when the file is not JSON.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        return json.loads(raw, parse_constant=NAMES.__getitem__)
    except (ValueError, RecursionError) as error:
        refuse(path, f"not JSON, or cut off: {error}", remedy)


def refuse(path: Path, reason: str, remedy: str) -> NoReturn:
    """Raise the error for a file that cannot be used."""
    raise UsageError(f"{path}: {clipped(reason)}; {remedy}")


@contextmanager
def refusing(path: Path, what: str, remedy: str) -> Iterator[None]:
    """Refuse a file whose content departs from its format, where the context reads it."""
    try:
        yield
    except DAMAGE as error:
        refuse(path, f"{what}: {damage(error)}", remedy)


def clipped(reason: str) -> str:
    """Return what is said of a file, which may quote it, with at most 300 characters."""
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 3]}..."


def damage(error: Exception) -> str:
    """Return what one of DAMAGE says of a file, in words."""
    if isinstance(error, (TypeError, AttributeError)):
        return "a field has another form"  # their texts are about Python's types
    return f"no {error}" if isinstance(error, KeyError) else str(error)


def fields(value: Any) -> dict[str, Any]:
    """Return an object of JSON; empty if the value is none, as where users may write anything."""
    return value if isinstance(value, dict) else {}


def own_part(whole: Any) -> dict[str, Any]:
    """Return gnnbench's part of a benchmark's `extra_info`, or of a run file; empty if there is none.

    It has a whole number as `version`. Users may write anything in its place.
    """
    part = fields(fields(whole).get(KEY))
    return part if type(part.get("version")) is int else {}
