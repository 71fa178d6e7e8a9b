"""The tensors and arrays that a call works on: arguments, what its functions hold, and gradients."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ... import outputs
from ..clock import Call

_DEEPEST = 6
_OF = "gradient of {}"
_MOST = 20_000
"""Objects that are looked at."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_LEFT = (type, ModuleType, BuiltinFunctionType)
"""Types of objects whose attributes are no inputs."""


class Reachable:
    """What a call can reach.

    Args:
        call: the function with its inputs.
        scope: the globals of the test's module: its functions' globals count as inputs.
    """

    def __init__(self, call: Call, scope: Mapping[str, Any]) -> None:
        self._scope, self._seen = scope, dict[int, Any]()
        self.arrays: dict[str, Any] = {}
        """Strided tensors and arrays by place, each once."""
        self.writable: dict[str, Any] = {}
        """Those of floating-point numbers that may get other values: not parts of other objects, such as
        sparse matrices, whose parts may have to fit each other."""
        self.plain: dict[str, Any] = {}
        """Numbers and texts among the arguments, by place."""
        for number, one in enumerate(call.args):
            self._look(f"argument {number + 1}", one, 0, free=True)
        for name, one in call.kwargs.items():
            self._look(f"argument {name}", one, 0, free=True)
        self._look("", call.function, 0, free=True)

    def _look(self, place: str, value: Any, depth: int, *, free: bool) -> None:
        """Note a value, or what is in it.

        Args:
            place: where it was found.
            value: anything.
            depth: number of steps from the call.
            free: whether it may get other values.
        """
        if id(value) in self._seen or depth > _DEEPEST or len(self._seen) > _MOST:
            return
        if isinstance(value, _PLAIN):
            if free:
                self.plain[place] = value
            return
        self._seen[id(value)] = value  # keeps it, so that its id stays taken
        if _is_array(value):
            self.arrays[place] = value
            if free and _may_change(value):
                self.writable[place] = value
            return
        for name, one, inside in self._inside(value):
            self._look(f"{place}{name}", one, depth + 1, free=free and inside)

    def _inside(self, value: Any) -> Iterator[tuple[str, Any, bool]]:
        """Yield what is in a value: the end of its place, itself, and whether it may get other values."""
        torch = sys.modules.get("torch")
        if isinstance(value, FunctionType):
            yield from self._held_by(value)
        elif isinstance(value, MethodType):
            yield from (("", one, True) for one in (value.__self__, value.__func__))
        elif isinstance(value, partial):
            yield from (("", one, True) for one in (value.func, value.args, value.keywords))
        elif torch and isinstance(value, torch.nn.Module):
            yield from ((f".{name}", one, True) for name, one in value.named_parameters())
            yield from ((f".{name}", one, False) for name, one in value.named_buffers())
        elif is_tensor(value):  # of another layout, or a subclass
            return
        elif isinstance(value, list | tuple | dict) or type(value).__name__ in ("Data", "HeteroData"):
            found = outputs.inside(value) or {}
            yield from ((name, one, True) for name, one in found.items())
        else:
            own = getattr(value, "__dict__", None)
            items = own.items() if isinstance(own, dict) and not isinstance(value, _LEFT) else ()
            yield from ((f".{name}", one, False) for name, one in list(items))

    def _held_by(self, function: FunctionType) -> Iterator[tuple[str, Any, bool]]:
        """Yield what a function captured, and the globals that it names if it is of the test's module.

        Numbers and texts that a function of another module captured are no inputs, but a part of its code.
        """
        is_own = function.__globals__ is self._scope
        names, cells = function.__code__.co_freevars, function.__closure__ or ()
        held = [("", one) for one in function.__defaults__ or ()]
        for name, cell in zip(names, cells, strict=True):
            with suppress(ValueError):  # not assigned yet
                held.append((name, cell.cell_contents))
        yield from ((name, one, True) for name, one in held if is_own or not isinstance(one, _PLAIN))
        if is_own:
            for name in function.__code__.co_names:
                if name in self._scope:
                    yield name, self._scope[name], True


def _is_array(value: Any) -> bool:
    if is_tensor(value):
        return bool(
            value.layout == sys.modules["torch"].strided and not value.is_nested and not value.is_quantized
        )
    return isinstance(value, np.ndarray) and value.dtype.kind in "biufc"


def _may_change(value: Any) -> bool:
    """Tell whether other floating-point numbers can be written to a tensor or an array, and make sense."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and value.size > 1 and value.flags.writeable
    torch = sys.modules["torch"]
    if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.is_inference():
        return False
    if value.numel() < 2 or value.device.type == "meta" or not value.is_floating_point():  # noqa: PLR2004
        return False
    return not is_expanded(value)


def is_expanded(value: Any) -> bool:
    """Tell whether several entries of a tensor lie at one address."""
    return any(not stride and size > 1 for stride, size in zip(value.stride(), value.shape, strict=True))


def shares_memory(value: Any, arrays: Mapping[str, Any]) -> bool:
    """Tell whether a part of an output lies in the memory of one of the inputs, or may do so."""
    if not is_tensor(value) and not isinstance(value, np.ndarray):
        return False
    if is_tensor(value) and value.layout != sys.modules["torch"].strided:
        return True
    start, end = _memory(value)
    return any(start < its_end and its_start < end for its_start, its_end in map(_memory, arrays.values()))


def _memory(value: Any) -> tuple[int, int]:
    """Return the first address of an array's or a tensor's memory, and the one after the last.

    A subclass of tensors, as EdgeIndex, has it from another tensor.
    """
    if isinstance(value, np.ndarray):
        start: int = value.__array_interface__["data"][0]
        steps = [(size - 1) * stride for size, stride in zip(value.shape, value.strides, strict=True)]
        below, above = (sum(change(step, 0) for step in steps) for change in (min, max))
        return start + below, start + above + value.itemsize
    storage = sys.modules["torch"].Tensor.detach(value).untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def is_tensor(value: Any) -> bool:
    """Tell whether a value is a tensor of torch."""
    torch = sys.modules.get("torch")
    return bool(torch) and isinstance(value, torch.Tensor)  # type: ignore[union-attr]


def is_leaf(value: Any) -> bool:
    """Tell whether a value is a tensor that gets a gradient by a backward pass."""
    return is_tensor(value) and value.is_leaf and value.requires_grad


def gradients_left(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return copies of the gradients that inputs have, by the name of the part: `gradient of argument 1`."""
    return {
        _OF.format(place): _dense(one.grad.detach()).clone()
        for place, one in inputs.items()
        if is_leaf(one) and one.grad is not None
    }


def gradients_by_output(opened: Iterable[Any], inputs: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the gradients of a call's output, in directions that both sides share, and whether it has some.

    An input that the output does not depend on has a gradient of zeros: some code computes one, some none.
    There are none at all if the call ran backward itself, and freed the graph.

    Args:
        opened: the parts of the output.
        inputs: tensors and others, by place.

    Returns:
        By the name of the part: `gradient of argument 1 by the output`.
    """
    tensors = [one for one in opened if is_tensor(one)]
    leaves = {place: one for place, one in inputs.items() if is_leaf(one)}
    if not tensors or not leaves:
        return {}, False
    torch = sys.modules["torch"]
    ends = [one for one in tensors if one.requires_grad]
    directions = [torch.linspace(1, 2, one.numel()).to(one).reshape(one.shape) for one in ends]
    found = [None] * len(leaves)
    try:
        if ends:
            found = torch.autograd.grad(ends, list(leaves.values()), directions, allow_unused=True)
    except RuntimeError:
        return {}, False
    return {
        f"{_OF.format(place)} by the output": torch.zeros_like(leaf) if one is None else _dense(one)
        for (place, leaf), one in zip(leaves.items(), found, strict=True)
    }, bool(ends)


def _dense(gradient: Any) -> Any:
    """Return a gradient as a strided tensor: that of an embedding may be sparse or not."""
    return gradient if gradient.layout == sys.modules["torch"].strided else gradient.to_dense()
