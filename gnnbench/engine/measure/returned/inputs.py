"""Saves and restores inputs, makes other values for them, and changes the rounding of operators."""

import re
import sys
from array import array
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from ...ground.parts import tensors_of_any_layout
from ..layouts import MEMORY_SHARE
from .portable import Portable, array_of, to_portable
from .reachable import Reachable, is_expanded, is_leaf, is_table, shares_memory

_EXACT = re.compile(
    r"(?!aten::)|aten::(_to_copy|abs|cat|clamp|clone|constant_pad|copy|detach|fill|flip|gather|index$"
    r"|index_put|index_select|masked_|max|min|amax|amin|neg|relu|repeat|roll|select|slice|sort|stack"
    r"|threshold|topk|where)"
)
"""Operators that do not round. Code may compare their results with their inputs for equality."""


class Snapshot:
    """Saved contents of arrays, tensors and containers, and saved gradients of tensors."""

    def __init__(self) -> None:
        self._contents: dict[int, tuple[Any, NDArray[Any], Any]] = {}
        """Values by id, with copies of content and gradient. The reference keeps the id from being reused."""
        self._containers: dict[int, tuple[Any, Any]] = {}
        """Containers with shallow copies, by id."""
        self.state: dict[str, Portable] = {}
        """Numbers, texts and arrays in the arguments before the first call, by place."""

    def add(self, values: Iterable[Any], containers: Iterable[Any] = ()) -> None:
        """Add values and containers that are not in the snapshot. Raises MemoryError if there is no room."""
        for container in containers:
            self._containers.setdefault(id(container), (container, copy(container)))
        added = [value for value in values if id(value) not in self._contents]
        total_bytes = sum(value.nbytes for value in added)
        if added and total_bytes > MEMORY_SHARE * psutil.virtual_memory().available:
            raise MemoryError(f"too large to copy: {total_bytes / 2**30:.1f} GiB of inputs")
        for value in added:
            gradient = value.grad.clone() if is_leaf(value) and value.grad is not None else None
            self._contents[id(value)] = value, np.array(array_of(value)), gradient

    def update(self, containers: Iterable[Any]) -> None:
        """Replace the saved contents of containers by the current contents."""
        self._containers |= {id(container): (container, copy(container)) for container in containers}

    def saved(self, value: Any) -> NDArray[Any]:
        """Return the saved content of a value."""
        return self._contents[id(value)][1]

    def current(self, value: Any) -> NDArray[Any]:
        """Return a copy of the current content of a value. The content of a view changes with its base."""
        _, array, _ = self._contents.get(id(value), (None, None, None))
        return array if array is not None and equal(array_of(value), array) else np.array(array_of(value))

    def values(self, reach: Reachable) -> dict[str, Portable]:
        """Return the current arrays, numbers and texts by place."""
        parts = to_portable({**reach.arrays, **reach.state}, {})
        return parts | {
            place: Portable(parts[place].kind, self.current(value)) for place, value in reach.arrays.items()
        }

    def restore(self) -> None:
        """Restore the contents of all values and containers, and the gradients."""
        for value, content, gradient in self._contents.values():
            write(value, content)
            if is_leaf(value):
                value.grad = None if gradient is None else gradient.clone()
        for container, content in self._containers.values():
            if isinstance(container, np.ndarray):
                container[...] = content
            elif is_table(container):
                vars(container).update(vars(copy(content)))
            elif isinstance(container, bytearray | array):
                container[:] = content  # unlike `clear`, this works while a view of it exists
            else:
                container.clear()
                (container.extend if isinstance(container, list | deque) else container.update)(content)


def equal(left: NDArray[Any], right: NDArray[Any]) -> bool:
    """Return whether two arrays are equal; NaN equals NaN."""
    return left.shape == right.shape and bool(np.array_equal(left, right, equal_nan=left.dtype.kind in "fc"))


def write(value: Any, content: NDArray[Any]) -> None:
    """Write numbers to a tensor or an array that has other numbers. Writing would invalidate caches."""
    current = array_of(value)
    if current.shape != content.shape or equal(current, content):
        return
    if isinstance(value, np.ndarray):
        if value.flags.writeable:  # otherwise its base gets the numbers
            value[...] = content
    elif not is_expanded(value):
        torch = sys.modules["torch"]
        with torch.no_grad():
            value.detach().copy_(torch.from_numpy(np.array(content, order="C")))


def mirror_indices(values: NDArray[Any]) -> NDArray[Any]:
    """Return other indices in the same range. For edges, this numbers the nodes of a graph in reverse order.

    Each index i becomes least + most - i, and the order along the longest axis is reversed. Sorted indices
    stay sorted, distinct edges stay distinct, self-loops stay self-loops, symmetric graphs stay symmetric,
    and CSR pointers stay valid. Boolean values, and values that are all 0 or 1, only change their order.
    """
    axis = int(np.argmax(values.shape))
    if values.dtype.kind == "b":
        return np.flip(values, axis)
    wide = values.astype(np.int64)
    least, most = wide.min(axis, keepdims=True), wide.max(axis, keepdims=True)
    other = np.where(most - least > 1, least + most - wide, wide)
    return np.flip(other, axis).astype(values.dtype)


def new_values(values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return other values of the same kind: in other positions, and multiplied by factors from 0.5 to 1.

    Signs are preserved, and so are bounds (of probabilities, for example). Whole numbers, which may be
    counts, only change their positions, unless all are equal. If some values are not whole, zeros keep their
    positions, as in a triangular matrix. Values that are sorted along the last axis stay sorted. A Hermitian
    or positive definite matrix keeps this property, because rows and columns are moved and scaled alike.
    """
    if order := _order(values):
        return _sort((values * (1 - rng.random(values.shape) / 2)).astype(values.dtype), order)
    is_int = np.array_equal(values, np.round(values))
    if _is_symmetric(values):
        positions = np.roll(np.arange(values.shape[-1]), values.shape[-1] // 3 + 1)
        factors = np.sqrt(1 - rng.random(values.shape[-1]) / 2)
        result, scale = values[..., positions[:, None], positions], np.outer(factors, factors)
    else:
        flat = values.reshape(-1)
        mask = np.ones(flat.shape, bool) if is_int else flat != 0
        result, scale = flat.copy(), 1 - rng.random(values.shape) / 2
        result[mask] = np.roll(flat[mask], values.size // 3 + 1)
        result = result.reshape(values.shape)
    return result if is_int and not np.array_equal(values, result) else (result * scale).astype(values.dtype)


def move_values(values: NDArray[Any], kind: str, rng: np.random.Generator, units: int = 1) -> NDArray[Any]:
    """Return floating-point numbers, of torch's type `kind`, moved up or down by some ULP, except zeros."""
    if values.dtype.kind == "c":
        numbers = np.ascontiguousarray(values).view(values.real.dtype)
        return move_values(numbers, kind, rng, units).view(values.dtype)
    digits = {"torch.bfloat16": 8}.get(kind) or np.finfo(values.dtype).nmant + 1  # of which at least 3/4 stay
    wide = values.astype(np.longdouble if values.dtype == np.longdouble else np.float64)
    _, exponents = np.frexp(wide)
    unit = np.where(wide == 0, 0.0, min(units, 2 ** (digits // 4)) * np.ldexp(1.0, exponents - digits))
    steps = np.where(rng.random(values.shape) < 0.5, unit, -unit)  # noqa: PLR2004
    return _sort((wide + steps).astype(values.dtype), _order(values))


def _order(values: NDArray[Any]) -> int:
    """Return 1 if numbers increase along the last axis, -1 if they decrease, and 0 otherwise."""
    left, right = values[..., :-1], values[..., 1:]
    if np.array_equal(left, right):
        return 0
    return int(bool((left <= right).all())) - int(bool((left >= right).all()))


def _sort(values: NDArray[Any], order: int) -> NDArray[Any]:
    return np.sort(values, axis=-1)[..., ::order] if order else values


def _is_symmetric(values: NDArray[Any]) -> bool:
    if values.ndim < 2 or not values.shape[-2] == values.shape[-1] > 1:  # noqa: PLR2004 - no matrix
        return False
    return np.array_equal(values, np.swapaxes(values, -2, -1).conj())


def rounding(units: int) -> AbstractContextManager[object]:
    """Return a context in which floating-point results of operators are moved up or down by some ULP.

    A call may cancel out changes of its inputs, but not changes of its own results. This is Monte Carlo
    arithmetic (Parker, Monte Carlo Arithmetic, 1997), applied to operators.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return nullcontext()
    from ..counters import OperatorMode

    def move(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        if _EXACT.match(name) or any(value in ("amax", "amin") for value in args if isinstance(value, str)):
            return  # a reduction by amax or amin does not round
        inputs = _floating_tensors((*args, *kwargs.values()))
        for tensor in _floating_tensors(result):
            if name.endswith("_") or not shares_memory(tensor, inputs):  # a view has the numbers of an input
                _move(tensor, units)

    return OperatorMode(move)


def _move(tensor: Any, units: int) -> None:
    """Move numbers in place, unless all are whole: whole numbers may be indices or counts."""
    torch = sys.modules["torch"]
    if not tensor.is_complex() and bool((tensor == tensor.round()).all()):
        return
    generator = torch.Generator(tensor.device).manual_seed(tensor.numel())  # not the one that the call uses
    upwards = torch.randint(2, tensor.shape, generator=generator, device=tensor.device)
    directions = (2 * upwards - 1).to(tensor.real.dtype)
    tensor.mul_(1 + directions * (units * torch.finfo(tensor.dtype).eps))


def _floating_tensors(value: Any) -> list[Any]:
    """Return the strided floating-point tensors among the arguments or results of an operator."""
    strided = sys.modules["torch"].strided
    tensors = (part for part in tensors_of_any_layout(value) if part.layout == strided and not part.is_meta)
    return [part for part in tensors if part.is_floating_point() or part.is_complex()]
