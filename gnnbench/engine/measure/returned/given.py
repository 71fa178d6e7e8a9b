"""The given inputs of a benchmark, other numbers in their place, and other rounding by operators."""

import re
import sys
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
from .portable import Portable, array_of
from .reachable import is_expanded, is_leaf, shares_memory

_EXACT = re.compile(
    r"(?!aten::)|aten::(_to_copy|abs|cat|clamp|clone|constant_pad|copy|detach|fill|flip|gather|index$"
    r"|index_put|index_select|masked_|max|min|amax|amin|neg|relu|repeat|roll|select|slice|sort|stack"
    r"|threshold|topk|where)"
)
"""Operators that round nothing. Code may compare their results with their inputs."""


class Given:
    """What arrays, tensors and containers held when they were first seen, and the gradients of tensors."""

    def __init__(self) -> None:
        self._contents: dict[int, tuple[Any, NDArray[Any]]] = {}
        """The values and the copies, by id: a value is kept, so that its id stays taken."""
        self._gradients: dict[int, Any] = {}
        self._containers: dict[int, tuple[Any, Any]] = {}
        """The containers and shallow copies, by id."""
        self.state: dict[str, Portable] = {}
        """Numbers and texts in the arguments of the first call, by place."""

    def keep(self, values: Iterable[Any], containers: Iterable[Any] = ()) -> None:
        """Copy the contents of values and containers that are new."""
        for container in containers:
            self._containers.setdefault(id(container), (container, copy(container)))
        unseen = [value for value in values if id(value) not in self._contents]
        total_bytes = sum(value.nbytes for value in unseen)
        if total_bytes > MEMORY_SHARE * psutil.virtual_memory().available:
            raise MemoryError(f"too large to copy: {total_bytes / 2**30:.1f} GiB of inputs")
        for value in unseen:
            self._contents[id(value)] = value, np.array(array_of(value))
            if is_leaf(value):
                self._gradients[id(value)] = None if value.grad is None else value.grad.clone()

    def renew(self, containers: Iterable[Any]) -> None:
        """Copy what containers hold now."""
        self._containers |= {id(container): (container, copy(container)) for container in containers}

    def of(self, value: Any) -> NDArray[Any]:
        """Return what a value held."""
        return self._contents[id(value)][1]

    def now(self, value: Any) -> NDArray[Any]:
        """Return a copy of what a value holds now: a view has new values where its base has."""
        _, array = self._contents.get(id(value), (None, None))
        return array if array is not None and equal(array_of(value), array) else np.array(array_of(value))

    def restore(self) -> None:
        """Write back what all values held, and their gradients."""
        for value, content in self._contents.values():
            write(value, content)
            if id(value) in self._gradients:
                gradient = self._gradients[id(value)]
                value.grad = None if gradient is None else gradient.clone()
        for container, content in self._containers.values():
            container.clear()
            (container.extend if isinstance(container, list | deque) else container.update)(content)


def equal(left: NDArray[Any], right: NDArray[Any]) -> bool:
    """Tell whether two arrays are equal, where NaN equals NaN."""
    return left.shape == right.shape and bool(np.array_equal(left, right, equal_nan=left.dtype.kind in "fc"))


def write(value: Any, content: NDArray[Any]) -> None:
    """Write numbers to a tensor or an array, unless it holds them: writing would invalidate caches.

    A view that cannot be written to shows its base, which is written to, too.
    """
    current = array_of(value)
    if current.shape != content.shape or equal(current, content):
        return
    if isinstance(value, np.ndarray):
        if value.flags.writeable:
            value[...] = content
    elif not is_expanded(value):
        torch = sys.modules["torch"]
        with torch.no_grad():
            value.detach().copy_(torch.from_numpy(np.array(content, order="C")))


def mirrored(values: NDArray[Any]) -> NDArray[Any]:
    """Return other indices of the same range: those of the same graph with its nodes in reverse order.

    They are mirrored within their range and reversed, along the longest axis. So sorted values stay sorted,
    pairs that differ still differ, self-loops and symmetric graphs stay, and pointers fit their indices.
    Where all are 0 or 1, or true or false, they are only reversed.
    """
    axis = int(np.argmax(values.shape))
    if values.dtype.kind == "b":
        return np.flip(values, axis)
    wide = values.astype(np.int64)
    least, most = wide.min(axis, keepdims=True), wide.max(axis, keepdims=True)
    other = np.where(most - least > 1, least + most - wide, wide)
    return np.flip(other, axis).astype(values.dtype)


def new(values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return other values of the same kind: moved to other places, and up to twice as small.

    Signs, and limits such as those of probabilities, stay. Whole numbers, which may count something, are only
    moved, unless all are equal; zeros among others keep their places, as in a triangular matrix. Values
    that are sorted along the last axis are sorted again. Symmetric matrices stay symmetric, and positive
    definite ones too: their rows and columns are moved and scaled alike.
    """
    if order := _order(values):
        return _sorted((values * (1 - rng.random(values.shape) / 2)).astype(values.dtype), order)
    whole = np.array_equal(values, np.round(values))
    if _is_symmetric(values):
        places = np.roll(np.arange(values.shape[-1]), values.shape[-1] // 3 + 1)
        factors = np.sqrt(1 - rng.random(values.shape[-1]) / 2)
        result, scale = values[..., places[:, None], places], np.outer(factors, factors)
    else:
        flat = values.reshape(-1)
        mask = np.ones(flat.shape, bool) if whole else flat != 0
        result, scale = flat.copy(), 1 - rng.random(values.shape) / 2
        result[mask] = np.roll(flat[mask], values.size // 3 + 1)
        result = result.reshape(values.shape)
    return result if whole and not np.array_equal(values, result) else (result * scale).astype(values.dtype)


def moved(values: NDArray[Any], kind: str, rng: np.random.Generator, units: int = 1) -> NDArray[Any]:
    """Move floating-point numbers up or down by some units in the last place of their type; zeros stay.

    Types with few digits keep three quarters of them. `kind` is of the tensor: `torch.bfloat16`.
    """
    digits = {"torch.bfloat16": 8}.get(kind) or np.finfo(values.dtype).nmant + 1
    wide = values.astype(np.longdouble if values.dtype == np.longdouble else np.float64)
    _, exponents = np.frexp(wide)
    unit = np.where(wide == 0, 0.0, min(units, 2 ** (digits // 4)) * np.ldexp(1.0, exponents - digits))
    steps = np.where(rng.random(values.shape) < 0.5, unit, -unit)  # noqa: PLR2004
    return _sorted((wide + steps).astype(values.dtype), _order(values))


def _order(values: NDArray[Any]) -> int:
    """Return 1 if numbers increase along the last axis, -1 if they decrease, and 0 if they do neither."""
    left, right = values[..., :-1], values[..., 1:]
    if np.array_equal(left, right):
        return 0
    return int(bool((left <= right).all())) - int(bool((left >= right).all()))


def _sorted(values: NDArray[Any], order: int) -> NDArray[Any]:
    return np.sort(values, axis=-1)[..., ::order] if order else values


def _is_symmetric(values: NDArray[Any]) -> bool:
    if values.ndim < 2 or not values.shape[-2] == values.shape[-1] > 1:  # noqa: PLR2004 - no matrix
        return False
    return np.array_equal(values, np.swapaxes(values, -2, -1))


def rounding(units: int) -> AbstractContextManager[object]:
    """Return a context in which floating-point results of operators are moved up or down by some units.

    A call may cancel changed digits of its inputs, but not those that it rounds itself. This is Monte
    Carlo arithmetic (Parker, Monte Carlo Arithmetic, 1997), by operator.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return nullcontext()
    from ..counters import OperatorMode

    def move(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        if _EXACT.match(name) or any(value in ("amax", "amin") for value in args if isinstance(value, str)):
            return  # amax and amin, as a reduction's argument, round nothing either
        inputs = _strided((*args, *kwargs.values()))
        for tensor in _strided(result):
            if name.endswith("_") or not shares_memory(tensor, inputs):  # no view
                _move(tensor, units)

    return OperatorMode(move)


def _move(tensor: Any, units: int) -> None:
    """Move numbers in place, unless all are whole: they may be indices or counts."""
    torch = sys.modules["torch"]
    if not tensor.is_complex() and bool((tensor == tensor.round()).all()):
        return
    generator = torch.Generator(tensor.device).manual_seed(tensor.numel())  # the call's own is unchanged
    upwards = torch.randint(2, tensor.shape, generator=generator, device=tensor.device)
    directions = (2 * upwards - 1).to(tensor.real.dtype)
    tensor.mul_(1 + directions * (units * torch.finfo(tensor.dtype).eps))


def _strided(value: Any) -> list[Any]:
    """Return the strided floating-point tensors in what an operator takes or returns."""
    strided = sys.modules["torch"].strided
    tensors = (part for part in tensors_of_any_layout(value) if part.layout == strided and not part.is_meta)
    return [part for part in tensors if part.is_floating_point() or part.is_complex()]
