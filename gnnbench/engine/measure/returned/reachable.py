"""The inputs of a call: arguments, values that its functions captured, and gradients."""

import re
import sys
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from functools import cached_property
from math import prod
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ...ground.outputs import PLAIN, is_plain_list
from ...ground.parts import (
    attributes_of,
    captured,
    content_of,
    is_private,
    is_tensor,
    kind_or_container,
    sparse_layouts,
    strided_parts,
)
from ..clock import Call
from .portable import array_of

_DEEPEST = 6
"""Largest depth of objects inside of objects."""
_ARGUMENT = "argument "
"""Beginning of the place of an argument."""
_OF = "gradient of {}"
"""Place of the gradient of an input."""
_MOST = 20_000
"""Largest number of objects."""
_LEFT_OUT = (type, ModuleType, BuiltinFunctionType)
"""Attributes of objects of these types are not inputs."""
_WHOLE = (set, bytearray, array)
"""Containers that are compared as a whole."""
_CONTAINERS = (*_WHOLE, list, dict, deque, Counter, OrderedDict, defaultdict)
_TABLES = ("pandas", "polars")
"""Packages with types whose attributes do not contain their values."""
_LARGEST_INDEX = 1 << 32
"""Larger whole numbers may be addresses."""
_SHARED = re.compile(r"^(\w+)-(\w+) ...s ", re.MULTILINE)
"""Start and end of shared memory in /proc/self/maps."""


class Reachable:
    """Finds the inputs of a call, including globals of the test's module (`scope`) that functions name."""

    def __init__(self, call: Call, scope: Mapping[str, Any]) -> None:
        self._scope, self._visited = scope, dict[int, Any]()
        self.arrays: dict[str, Any] = {}
        """Strided tensors and arrays by place (a path, see portable.py), each once."""
        self._free: dict[str, Any] = {}
        """Arrays that may get other values independently. Parts of one object may have to fit together."""
        self.plain: dict[str, Any] = {}
        """Numbers and texts among the arguments, and arrays that are not numeric, by place."""
        self.state: dict[str, Any] = {}
        """Numbers and texts in the arguments, except in private attributes (`_name`)."""
        self.containers: list[Any] = []
        """Lists, dictionaries, sets, tables and arrays that are not numeric in the arguments."""
        self.containers_of_objects: list[Any] = []
        """The containers that are attributes of objects; they may be caches."""
        for name, argument in (*enumerate(call.args, 1), *call.kwargs.items()):
            self._add(f"{_ARGUMENT}{name}", argument, 0, is_free=True)
        self._add("", call.function, 0, is_free=True)

    @cached_property
    def writable(self) -> dict[str, Any]:
        """Arrays and tensors that may get other values, by place; none is in shared memory."""
        candidates = {place: value for place, value in self._free.items() if _may_change(value)}
        shared = _shared_memory() if candidates else []
        return {place: value for place, value in candidates.items() if not _overlaps(value, shared)}

    def _add(self, place: str, value: Any, depth: int, *, is_free: bool) -> None:
        """Add a value, or its parts; `is_free` tells whether it may get other values."""
        if id(value) in self._visited or depth > _DEEPEST or len(self._visited) > _MOST:
            return
        is_argument = is_of_argument(place)  # values that a function captured may be caches
        is_not_numeric = type(value) is np.ndarray and not is_array(value) and value.flags.writeable
        if is_argument and (type(value) in _CONTAINERS or is_not_numeric or is_table(value)):
            self.containers.append(value)
            self.containers_of_objects += [] if is_free else [value]
        is_whole = isinstance(value, list | tuple) and is_plain_list(value)
        is_whole |= is_argument and (type(value) in _WHOLE or is_not_numeric)
        if is_whole or isinstance(value, PLAIN):
            if is_free:
                self.plain[place] = copy(value)
            if is_argument and not is_private(place):
                self.state[place] = copy(value)
            return
        self._visited[id(value)] = value  # the reference keeps its id from being reused
        if is_array(value):
            self.arrays[place] = value
            if is_free:
                self._free[place] = value
            return
        for name, item, is_free_part in self._parts_of(value):
            self._add(f"{place}{name}", item, depth + 1, is_free=is_free and is_free_part)

    def _parts_of(self, value: Any) -> Iterator[tuple[str, Any, bool]]:
        """Yield the suffix of each part's name, the part, and whether gnnbench may change its values."""
        kind = kind_or_container(value)
        if isinstance(value, FunctionType):
            yield from self._captured_by(value)
        elif is_tensor(value):
            parts = strided_parts(value.detach()) if value.layout in sparse_layouts() else ()
            yield from (
                (f".part {number}", part, part.is_floating_point()) for number, part in enumerate(parts)
            )
        elif kind and kind.is_free:
            for name, item in kind.parts(value):
                yield name, item, name.strip(".[']") not in getattr(value, "_buffers", ())
        elif is_table(value):
            yield from ((name, item, False) for name, item in content_of(value) or ())
        elif not isinstance(value, _LEFT_OUT):
            yield from ((name, item, False) for name, item in attributes_of(value) or ())

    def _captured_by(self, function: FunctionType) -> Iterator[tuple[str, Any, bool]]:
        """Yield values that a function captured and, if it is in the test's module, globals that it names."""
        # Numbers and texts that a function of another module captured are part of its code.
        is_tests = function.__globals__ is self._scope
        items = [("", value) for value in function.__defaults__ or ()]
        items += captured(function)
        yield from ((name, value, True) for name, value in items if is_tests or not isinstance(value, PLAIN))
        if is_tests:
            for name in function.__code__.co_names:
                if name in self._scope:
                    yield name, self._scope[name], True


def is_array(value: Any) -> bool:
    if is_tensor(value):
        is_strided = value.layout == sys.modules["torch"].strided
        return bool(is_strided and not value.is_nested and not value.is_quantized)
    return isinstance(value, np.ndarray) and value.dtype.kind in "biufc"


def is_of_argument(place: str) -> bool:
    return place.startswith(_ARGUMENT)


def is_table(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] in _TABLES and content_of(value) is not None


def _may_change(value: Any) -> bool:
    """Return whether a tensor or an array may get other numbers. Integers that may be addresses may not."""
    if isinstance(value, np.ndarray):
        is_writable = value.flags.writeable
    else:
        torch = sys.modules["torch"]
        is_plain = type(value) in (torch.Tensor, torch.nn.Parameter)
        is_writable = is_plain and not (value.is_inference() or value.is_meta or is_expanded(value))
    if not is_writable or prod(value.shape) < 2:  # noqa: PLR2004
        return False
    numbers = array_of(value)
    return numbers.dtype.kind in "fcb" or (
        numbers.dtype.kind in "iu" and int(np.abs(numbers).max()) < _LARGEST_INDEX
    )


def _shared_memory() -> list[tuple[int, int]]:
    """Return start and end of each range of memory that is shared with files or other processes."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    return [(int(start, 16), int(end, 16)) for start, end in _SHARED.findall(maps)]


def is_expanded(value: Any) -> bool:
    """Return whether several entries of a tensor lie at one address."""
    return any(not stride and size > 1 for stride, size in zip(value.stride(), value.shape, strict=True))


def shares_memory(value: Any, others: Iterable[Any]) -> bool:
    """Return whether a value is an array or a tensor, and shares memory with one of `others`."""
    return is_array(value) and _overlaps(value, map(_memory_of, others))


def _overlaps(value: Any, ranges: Iterable[tuple[int, int]]) -> bool:
    """Return whether the memory of an array or a tensor overlaps with a range of addresses."""
    start, end = _memory_of(value)
    return any(start < other_end and other_start < end for other_start, other_end in ranges)


def _memory_of(value: Any) -> tuple[int, int]:
    """Return start and end of the memory of an array, or of the storage of a tensor."""
    if isinstance(value, np.ndarray):
        start: int = value.__array_interface__["data"][0]
        steps = [(size - 1) * stride for size, stride in zip(value.shape, value.strides, strict=True)]
        below = sum(min(step, 0) for step in steps)
        above = sum(max(step, 0) for step in steps)
        return start + below, start + above + (value.itemsize if value.size else 0)
    storage = sys.modules["torch"].Tensor.detach(value).untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def is_leaf(value: Any) -> bool:
    """Return whether a value is a tensor that gets a gradient in a backward pass."""
    return is_tensor(value) and value.is_leaf and value.requires_grad


def set_gradients(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return copies of the gradients that inputs have, by place: `gradient of argument 1`."""
    return {
        _OF.format(place): _dense(value.grad.detach()).clone()
        for place, value in inputs.items()
        if is_leaf(value) and value.grad is not None
    }


def gradients_by_output(values: Iterable[Any], inputs: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return gradients of a call's output with respect to its inputs, and whether the output has a graph."""
    tensors = [value for value in values if is_tensor(value)]
    sources = {place: value for place, value in inputs.items() if is_tensor(value) and value.requires_grad}
    if not tensors or not sources:
        return {}, False
    torch = sys.modules["torch"]
    outputs = [tensor for tensor in tensors if tensor.requires_grad]
    rng = np.random.default_rng(0)  # equal output gradients would cancel in a softmax
    directions = [torch.tensor(rng.uniform(-1, 1, output.shape)).to(output) for output in outputs]
    gradients = [None] * len(sources)
    try:
        if outputs:
            gradients = torch.autograd.grad(outputs, list(sources.values()), directions, allow_unused=True)
    except RuntimeError:  # the call itself freed the graph
        return {}, False
    return {
        f"{_OF.format(place)} by the output": torch.zeros_like(source)
        if gradient is None
        else _dense(gradient)
        for (place, source), gradient in zip(sources.items(), gradients, strict=True)
    }, bool(outputs)


def _dense(gradient: Any) -> Any:
    """Return a gradient as a strided tensor. Gradients of embeddings may be sparse."""
    return gradient if gradient.layout == sys.modules["torch"].strided else gradient.to_dense()
