"""Reads JSON files that may be cut off or written by other programs."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from .errors import UsageError

DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)
"""The exceptions that reading may raise if content departs from its format."""
_LONGEST_REASON = 300
"""Longest reason, in characters."""
NAMES = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}
"""JSON has neither NaN nor infinity: these texts replace them, written as in test ids."""
KEY = "gnnbench"
"""Key of gnnbench's part in a file of pytest-benchmark."""


def read(path: Path, remedy: str) -> Any:
    """Return the content of a JSON file.

    NaN and Infinity, which Python writes although JSON lacks them, become texts; see NAMES. The error for a
    file that is not JSON ends with `remedy`.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        return json.loads(raw, parse_constant=NAMES.__getitem__)
    except (ValueError, RecursionError) as error:
        refuse(path, f"not valid JSON, or truncated: {error}", remedy)


def refuse(path: Path, reason: str, remedy: str) -> NoReturn:
    """Raise the error for a file that cannot be used."""
    raise UsageError(f"{path}: {clipped(reason)}; {remedy}")


@contextmanager
def refusing(path: Path, what: str, remedy: str) -> Iterator[None]:
    """Raise UsageError if the block fails because the file's content departs from its format."""
    try:
        yield
    except DAMAGE as error:
        refuse(path, f"{what}: {damage(error)}", remedy)


def clipped(reason: str) -> str:
    """Return a reason, which may quote the file, with at most 300 characters."""
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 3]}..."


def damage(error: Exception) -> str:
    """Return what an exception of DAMAGE says about the content."""
    if isinstance(error, (TypeError, AttributeError)):
        return "a field has the wrong type"  # their texts are about Python's types
    return f"missing key {error}" if isinstance(error, KeyError) else str(error)


def fields(value: Any) -> dict[str, Any]:
    """Return a JSON object, or an empty one for any other value, which a user may have written."""
    return value if isinstance(value, dict) else {}


def gnnbench_part(content: Any) -> dict[str, Any]:
    """Return gnnbench's part of a benchmark's `extra_info`, or of a run file. Empty if there is none.

    A part without a whole number as `version` does not count, because users may write anything there.
    """
    part = fields(fields(content).get(KEY))
    return part if type(part.get("version")) is int else {}
