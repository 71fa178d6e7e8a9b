"""The parts of a function's output by place: a place is an expression such as `['paper'][0].mean`."""

import sys
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import is_dataclass
from numbers import Integral
from types import FunctionType
from typing import Any

from . import parts as walker

PLAIN = (bool, int, float, complex, str, bytes, type(None))
"""Types that are compared by their values."""
_FEW = 16
"""Lists of up to this many plain values have one part for each value."""
MOST = 10_000
"""Most parts of an output."""
_DEEPEST = 30


class UncomparableError(TypeError):
    """A part of an output has a type whose values cannot be compared."""


class TooMuchError(Exception):
    """Inputs or outputs are too large to be compared; the message is one line."""


class OutputParts:
    """The parts of an output, read without running functions of `tested`, the packages under test.

    `plain` returns a text to compare for an object of any other type, or None if there is none. Without
    `plain`, such an object raises UncomparableError, which names its type and place.
    """

    def __init__(
        self,
        value: Any,
        tested: Collection[str] = (),
        plain: Callable[[Any], str | None] | None = None,
    ) -> None:
        self._tested, self._plain = tested, plain
        self.parts: dict[str, Any] = {}
        """Tensors, arrays and plain values by place. The place of the output itself is `""`."""
        self.uncomparable: dict[str, str] = {}
        """Types of the parts that cannot be compared, by place."""
        self.opened: dict[str, Any] = {}
        """Containers, objects and functions that have parts, by place; a long list is one part itself."""
        self.orders: dict[str, str] = {}
        """Keys of dictionaries in order, by place."""
        self._open("", value, ())

    def _open(self, place: str, value: Any, outer: tuple[int, ...]) -> None:
        """Add the parts of a value; `outer` has the ids of the objects that contain it."""
        if id(value) in outer:
            return
        if _is_array(value):
            self._add(place, value)
            return
        if issubclass(type(value), list | tuple | deque) and is_plain_list(value):
            self.opened[place] = value
            self._add(place, tuple(value))
            return
        content = walker.content_of(value, self._tested)
        if content is None and not self._is_leaf(value) and (self._plain or is_dataclass(value)):
            content = walker.attributes_of(value)
        if content is None or len(outer) > _DEEPEST:
            self._add_leaf(place, value)
            return
        items = list(content)
        self.opened[place] = value
        if issubclass(type(value), Mapping):
            self.orders[place] = " ".join(name for name, _ in items)
        for name, item in items:
            self._open(place + name, item, (*outer, id(value)))
        if not items:
            self._add(place, ())

    def _add(self, place: str, value: Any) -> None:
        self.parts[place] = value
        if len(self.parts) > MOST:
            raise TooMuchError(f"the output has more than {MOST:,} parts")

    def _is_leaf(self, value: Any) -> bool:
        is_leaf = issubclass(type(value), PLAIN) or walker.kind_of(value) is walker.LEAF
        return is_leaf or self._becomes_array(value)

    def _becomes_array(self, value: Any) -> bool:
        if "numpy" not in sys.modules:
            return False
        module, method = type(value).__module__, getattr(type(value), "__array__", None)
        is_tested = module.partition(".")[0] in self._tested and isinstance(method, FunctionType)
        return (method is not None and not is_tested) or module == "array"

    def _add_leaf(self, place: str, value: Any) -> None:
        if issubclass(type(value), PLAIN):
            self._add(place, value)
        elif self._becomes_array(value):
            self._add(place, sys.modules["numpy"].asarray(value))
        elif self._plain is None:
            raise UncomparableError(f"output{place} is a {_type_name(value)}")
        elif type(value) is not type and self._plain(value) is None:
            self.uncomparable[place] = _type_name(value)
        else:
            self._add(place, value)


def parts(value: Any) -> dict[str, Any]:
    """Return tensors, arrays and plain values by place: `""` for the output itself, `['paper'][0].mean`.

    Raises UncomparableError if a part has another type, and TooMuchError if there are too many parts.
    """
    return OutputParts(value).parts


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return walker.is_tensor(value) or (
        numpy is not None
        and issubclass(type(value), numpy.ndarray | numpy.generic)
        and not issubclass(type(value), numpy.ma.MaskedArray)
    )


def is_plain_list(value: Collection[Any]) -> bool:
    """Tell whether a list is a single part: it has many plain values, and either all or none are floats."""
    types = {type(item) for item in value} if len(value) > _FEW else {object}
    return types <= {*PLAIN} - {float} or any(
        all(issubclass(kind, base) for kind in types) for base in (float, Integral)
    )


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
