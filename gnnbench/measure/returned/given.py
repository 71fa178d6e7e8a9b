"""The inputs of a benchmark as they were given: other values can be written to them, and these come back."""

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from ..layouts import MEMORY_SHARE
from .gradients import is_leaf
from .portable import array_of
from .reachable import is_expanded


class Given:
    """Copies of what arrays and tensors held when they were first seen, and of their gradients."""

    def __init__(self) -> None:
        self._contents: dict[int, tuple[Any, NDArray[Any]]] = {}
        """The values and the copies, by id: a value is kept, so that its id stays taken."""
        self._gradients: dict[int, Any] = {}

    def keep(self, values: Iterable[Any]) -> None:
        """Copy what has not been seen.

        Raises:
            MemoryError: there is no room for the copies.
        """
        unseen = [one for one in values if id(one) not in self._contents]
        needed = sum(one.nbytes for one in unseen)
        if needed > MEMORY_SHARE * psutil.virtual_memory().available:
            raise MemoryError(f"too large to copy: {needed / 2**30:.1f} GiB of inputs")
        for one in unseen:
            self._contents[id(one)] = one, np.array(array_of(one))
            if is_leaf(one):
                self._gradients[id(one)] = None if one.grad is None else one.grad.clone()

    def of(self, value: Any) -> NDArray[Any]:
        """Return what a value held."""
        return self._contents[id(value)][1]

    def now(self, value: Any) -> NDArray[Any]:
        """Return what a value holds, as a copy: a view has new values where what it is a view of has."""
        given = self.of(value)
        return given if equal(array_of(value), given) else np.array(array_of(value))

    def restore(self) -> None:
        """Write back what all values held, and their gradients."""
        for value, content in self._contents.values():
            write(value, content)
            if id(value) in self._gradients:
                gradient = self._gradients[id(value)]
                value.grad = None if gradient is None else gradient.clone()


def equal(left: NDArray[Any], right: NDArray[Any]) -> bool:
    """Tell whether two arrays are equal, where NaN equals NaN."""
    return left.shape == right.shape and bool(np.array_equal(left, right, equal_nan=left.dtype.kind in "fc"))


def write(value: Any, content: NDArray[Any]) -> None:
    """Write numbers to a tensor or an array, unless it holds them: what was kept of it would become invalid.

    A view that cannot be written to shows what it is a view of, which is written to, too.
    """
    present = array_of(value)
    if present.shape != content.shape or equal(present, content):
        return
    if isinstance(value, np.ndarray):
        if value.flags.writeable:
            value[...] = content
    elif not is_expanded(value):
        torch = sys.modules["torch"]
        with torch.no_grad():
            value.detach().copy_(torch.from_numpy(np.array(content, order="C")))
