"""The types in parsed JSON, checked for every file that is read.

A JSON Schema says more, but takes a hundred times as long: too long for a history of a thousand files.
"""

from dataclasses import dataclass
from typing import Any

_MOST = 10**18


@dataclass(frozen=True)
class Maybe:
    """A value that may be null or missing."""

    shape: Any


def fits(value: Any, shape: Any) -> bool:
    """Tell whether a value has a shape.

    Args:
        value: parsed JSON.
        shape: `str`, `bool` or `int` (below 10**18); `[shape]` of a list's items; `{"name": shape}` of an
            object's fields, of which others are ignored; `{str: shape}` of all fields; `Maybe(shape)`.
    """
    match shape:
        case Maybe():
            return value is None or fits(value, shape.shape)
        case [item]:
            return isinstance(value, list | tuple) and all(fits(one, item) for one in value)
        case dict() if str in shape:
            return isinstance(value, dict) and all(fits(one, shape[str]) for one in value.values())
        case dict():
            return isinstance(value, dict) and all(fits(value.get(name), one) for name, one in shape.items())
    if isinstance(value, bool):
        return shape is bool
    return isinstance(value, shape) and (shape is not int or abs(value) < _MOST)
