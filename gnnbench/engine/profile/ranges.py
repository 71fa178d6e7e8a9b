"""Times a library's functions as named ranges, by wrapping them in memory while a profile is taken."""

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import get_ident
from typing import Any, Self

import pytest
import torch
from torch.overrides import TorchFunctionMode

from ..ground.cpu import RealTime
from .targets import find, members, subclasses

_FUNCTIONS: Mapping[str, str] = {
    **dict.fromkeys(("mul", "mul_", "__mul__", "__rmul__", "__imul__"), "mul"),
    **dict.fromkeys(("pow", "pow_", "__pow__"), "pow"),
    **dict.fromkeys(("add", "add_", "__add__", "__radd__", "__iadd__"), "bias"),
    **dict.fromkeys(("linear", "matmul", "mm", "__matmul__", "__rmatmul__"), "x·W"),
    **dict.fromkeys(("_sparse_mm", "_sparse_mm_reduce_impl"), "spmm"),
    **dict.fromkeys(("elu", "gelu", "leaky_relu", "relu", "relu_", "sigmoid", "silu", "tanh"), "activation"),
}
"""Names of ranges, by name of the torch function."""


class Ranges:
    """Wraps functions, the targets, while its context is open; times their calls as a tree of ranges.

    While a range is open, no other range of the same name opens. So a method that calls the same method of
    its base class counts once, and so does Tensor.backward, which calls torch.autograd.backward.
    """

    def __init__(
        self, targets: Mapping[str, str], device: str, *, clock: Callable[[], int] = RealTime.nanoseconds
    ) -> None:
        """`targets`: functions as in `targets.py`. On the device `cuda`, ranges are NVTX ranges as well."""
        self.path: tuple[str, ...] = ()  # names of the open ranges, outermost first
        self._targets, self._nvtx, self._clock = targets, device == "cuda", clock
        self._times: dict[tuple[str, ...], list[int]] = {}
        """Calls and nanoseconds by path."""
        self._functions = InlineFunctions(self.range)
        self._thread = 0  # the thread that entered the context; only this thread opens ranges
        self._wrappers: list[tuple[Any, str, Any]] = []  # owner, name of its attribute, wrapper
        self._originals: dict[int, Any] = {}  # wrapped functions, by the id of their wrapper
        self._modules: set[str] = set()  # names of the modules that were imported before
        self._installed = pytest.MonkeyPatch()

    def __enter__(self) -> Self:
        self._originals = {}
        self._wrappers = [
            (owner, name, self._wrap(value, label, inline))
            for owner, name, value, label, inline in find(self._targets)  # find all before installing any
        ]
        self._modules, self._thread = set(sys.modules), get_ident()
        for wrapper in self._wrappers:
            self._installed.setattr(*wrapper)
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the library, also where it stored a wrapper itself, as PyG does in a new layer's class."""
        self._installed.undo()
        modules = [module for name, module in list(sys.modules.items()) if name not in self._modules]
        owners = {id(owner): owner for owner in (*(wrapper[0] for wrapper in self._wrappers), *modules)}
        for owner in list(owners.values()):
            if isinstance(owner, type):
                owners |= {id(child): child for child in subclasses(owner)}
        # The library may have stored wrappers in new modules, and in subclasses.
        for owner in owners.values():
            for name, value in list(members(owner).items()):
                if id(value) in self._originals:
                    setattr(owner, name, self._originals[id(value)])

    def _wrap(self, value: Any, name: str, inline: bool) -> Any:
        if isinstance(value, staticmethod | classmethod):
            return type(value)(self._wrap(value.__func__, name, inline))

        @functools.wraps(value)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():  # a range would break the graph
                return value(*args, **kwargs)
            with self.range(name, inline):
                return value(*args, **kwargs)

        self._originals[id(wrapper)] = value
        return wrapper

    @contextmanager
    def range(self, name: str, inline: bool | None = None) -> Iterator[None]:
        """Open a range, unless one of this name is open. If `inline`, torch functions in it get ranges."""
        if get_ident() != self._thread or name in self.path:
            yield
            return
        with _announce(name, self._nvtx):
            was_on = self._functions.switch(inline)
            outer_path, self.path = self.path, (*self.path, name)
            times = self._times.setdefault(self.path, [0, 0])
            start_ns = self._clock()
            try:
                yield
            finally:
                times[1] += self._clock() - start_ns
                times[0] += 1
                self.path = outer_path
                self._functions.switch(was_on)

    def times(self) -> dict[tuple[str, ...], tuple[int, int, int]]:
        """Return calls, time, and time outside inner ranges, of each path, depth first. Then reset them."""
        order = {path: number for number, path in enumerate(self._times)}
        paths = sorted(order, key=lambda path: [order[path[: end + 1]] for end in range(len(path))])
        inside_ns = dict.fromkeys(((), *paths), 0)
        for path in paths:
            inside_ns[path[:-1]] += self._times[path][1]
        times = {
            path: (calls, ns, ns - inside_ns[path]) for path in paths for calls, ns in [self._times[path]]
        }
        for counter in self._times.values():
            counter[:] = 0, 0
        return times


class InlineFunctions(TorchFunctionMode):
    """Opens a range around each torch function that a layer calls directly, such as x @ W."""

    def __init__(self, open_range: Callable[[str], AbstractContextManager[object]]) -> None:
        super().__init__()
        self._range, self._on = open_range, False

    def switch(self, on: bool | None) -> bool:
        """Switch the mode on or off, or leave it unchanged if `on` is None. Return whether it was on."""
        was_on = self._on
        if on and not was_on:
            self.__enter__()  # type: ignore[no-untyped-call]
        elif was_on and on is False:
            self.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        self._on = was_on if on is None else on
        return was_on

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name = _function_name(function, args)
        self._on = False  # torch disables a mode while it handles a function
        try:
            with self._range(name) if name else ExitStack():
                return function(*args, **(kwargs or {}))
        finally:
            self._on = True


def _function_name(function: Any, args: tuple[Any, ...]) -> str | None:
    """Return the name of a torch function's range, or None. An addition is `bias` if it adds a parameter."""
    name = _FUNCTIONS.get(getattr(function, "__name__", ""))
    if name == "bias" and not any(isinstance(operand, torch.nn.Parameter) for operand in args[:2]):
        return None
    if name == "x·W" and any(operand.layout != torch.strided for operand in args[:2]):
        return "spmm"
    return name


def _announce(name: str, nvtx: bool) -> ExitStack:
    """Open an NVTX range, and one of torch's profiler only if it runs, because record_function takes 6 µs."""
    stack = ExitStack()
    if torch._C._autograd._profiler_enabled():  # noqa: SLF001
        # Kineto writes "unknown" for a name that is not ASCII.
        stack.enter_context(torch.profiler.record_function(name.replace("·", "@")))
    if nvtx:
        stack.enter_context(torch.cuda.nvtx.range(name))
    return stack
