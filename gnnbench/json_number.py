"""A number of a JSON file that may be another's: one that can be reckoned with, or refused."""

import reprlib
import sys
from typing import Any

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
