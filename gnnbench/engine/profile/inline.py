"""Ranges around torch functions that a layer calls in its own body, such as x @ W.

They belong to no module or class of the library, so `ranges` cannot wrap them.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("mul", "mul_", "__mul__", "__rmul__", "__imul__"), "mul"),
    **dict.fromkeys(("pow", "pow_", "__pow__"), "pow"),
    **dict.fromkeys(("add", "add_", "__add__", "__radd__", "__iadd__"), "bias"),
    **dict.fromkeys(("linear", "matmul", "mm", "__matmul__", "__rmatmul__"), "x·W"),
    **dict.fromkeys(("_sparse_mm", "_sparse_mm_reduce_impl"), "spmm"),
    **dict.fromkeys(("elu", "gelu", "leaky_relu", "relu", "relu_", "sigmoid", "silu", "tanh"), "activation"),
}
"""Name of the torch function: name of its range."""


def function_name(function: Any, args: tuple[Any, ...]) -> str | None:
    """Return the range's name for a torch function; None if it has none.

    An addition has one only if it adds a parameter: the bias.
    """
    name = _NAMES.get(getattr(function, "__name__", ""))
    if name == "bias" and not any(isinstance(operand, torch.nn.Parameter) for operand in args[:2]):
        return None
    if name == "x·W" and any(operand.layout != torch.strided for operand in args[:2]):
        return "spmm"
    return name


class InlineFunctions(TorchFunctionMode):
    """Opens a range around each of these functions while it is switched on.

    Each observed function costs some microseconds, and a SparseTensor calls hundreds.
    """

    def __init__(self, open_range: Callable[[str], AbstractContextManager[object]]) -> None:
        """Take a function that opens a range of a given name."""
        super().__init__()
        self._range = open_range
        self._on = False

    def switch(self, on: bool) -> bool:
        """Switch it on or off; return whether it was on."""
        before = self._on
        if on and not before:
            self.__enter__()  # type: ignore[no-untyped-call]
        elif before and not on:
            self.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        self._on = on
        return before

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name = function_name(function, args)
        self._on = False  # torch disables a mode while it handles a function
        try:
            if name is None:
                return function(*args, **(kwargs or {}))
            with self._range(name):
                return function(*args, **(kwargs or {}))
        finally:
            self._on = True
