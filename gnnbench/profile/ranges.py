"""Named ranges around a library's functions, for the time of a profile.

A range is opened by a wrapper that takes the function's place: the library stays as it is installed, and
each attribute is put back afterwards.
"""

import functools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from threading import get_ident
from types import TracebackType
from typing import Any, Self

import torch

from .inline import InlineFunctions
from .places import CLASS, Attribute, Target, find, put_originals_back

__all__ = ["Ranges", "Row", "Target", "clock_of"]


@dataclass(frozen=True)
class Row:
    """The time of one path of ranges."""

    path: tuple[str, ...]
    """Outermost first."""
    calls: int
    total_ns: int
    self_ns: int
    """Without the ranges inside: over all rows they sum to the total of the outermost."""


@dataclass
class _Node:
    path: tuple[str, ...] = ()
    children: dict[str, "_Node"] = field(default_factory=dict)
    calls: int = 0
    total_ns: int = 0

    def child(self, name: str) -> "_Node":
        if name not in self.children:
            self.children[name] = _Node((*self.path, name))
        return self.children[name]

    def below(self) -> Iterator["_Node"]:
        for child in self.children.values():
            yield child
            yield from child.below()


@dataclass
class _State:
    """What ranges share."""

    node: _Node
    """Of the innermost range that is open."""
    clock: Callable[[], int]
    nvtx: bool
    functions: InlineFunctions | None = None
    thread: int = 0
    """The one that has entered: ranges are its own."""
    elsewhere: set[str] = field(default_factory=set)
    """Names that other threads have called."""


class Ranges:
    """Wraps targets while it is entered, which it may be again and again, and times their calls as a tree.

    A name stands for its outermost call: where a range of it is open, however far outside, none is opened. A
    method that calls its super's is one call, and so is Tensor.backward, which calls torch.autograd.backward.

    To look for the targets takes milliseconds, and takes the caches: that is done on entering only, and
    `switch` is for what is timed.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        device: str,
        *,
        clock: Callable[[], int] = time.perf_counter_ns,
        functions: bool = False,
    ) -> None:
        """Look for nothing yet.

        Args:
            targets: those of libraries that are not imported when ranges are entered are passed over.
            device: on `cuda` ranges are NVTX's, too.
            clock: nanoseconds; see `clock_of`.
            functions: whether those of torch that `inline` targets call are ranges, see `inline`.
        """
        self._targets = targets
        self._missing: tuple[str, ...] = ()
        self._root = _Node()
        self._state = _State(self._root, clock, nvtx=device == "cuda")
        if functions:
            self._state.functions = InlineFunctions(self.range)
        self._wrappers: list[tuple[Attribute, Any]] = []
        self._originals: dict[int, Any] = {}
        self._modules: set[str] = set()
        self._on = False
        self._installed = ExitStack()

    @property
    def path(self) -> tuple[str, ...]:
        """The names of the ranges that are open, outermost first."""
        return self._state.node.path

    @property
    def missing(self) -> tuple[str, ...]:
        """A line for each target that its library, though imported, lacks; and of other threads, if any."""
        names = ", ".join(sorted(self._state.elsewhere))
        return (*self._missing, f"{names}: what other threads call is not shown") if names else self._missing

    def __enter__(self) -> Self:
        found, self._missing = find(self._targets)  # all of them before any is wrapped, and so is inherited
        self._wrappers, self._originals = [], {}
        for target, attribute in found:
            name = target.name.replace(CLASS, attribute.owner.__name__)
            self._wrappers.append((attribute, self._wrapped(attribute.value, name, target.inline)))
        self._modules = set(sys.modules)
        self._state.thread = get_ident()
        self.switch(on=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.switch(on=False)
        owners = {id(attribute.owner): attribute.owner for attribute, _ in self._wrappers}
        imported = [module for name, module in list(sys.modules.items()) if name not in self._modules]
        put_originals_back(self._originals, (*owners.values(), *imported))

    def switch(self, *, on: bool) -> None:
        """Within `with`: put the wrappers in place, or the library as it is; what is so already stays."""
        if on == self._on:
            return
        self._on = on
        if not on:
            self._installed.close()
            return
        with ExitStack() as stack:
            for attribute, wrapper in self._wrappers:
                stack.callback(attribute.put_back)
                setattr(attribute.owner, attribute.name, wrapper)
            self._installed = stack.pop_all()

    def _wrapped(self, value: Any, name: str, inline: bool) -> Any:
        if isinstance(value, staticmethod | classmethod):
            return type(value)(self._wrapped(value.__func__, name, inline))

        state = self._state

        @functools.wraps(value)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():  # a range would break the graph
                return value(*args, **kwargs)
            if get_ident() != state.thread:
                state.elsewhere.add(name)
                return value(*args, **kwargs)
            if name in state.node.path:
                return value(*args, **kwargs)
            with _Range(state, name, inline):
                return value(*args, **kwargs)

        self._originals[id(wrapper)] = value
        return wrapper

    def range(self, name: str) -> AbstractContextManager[object]:
        """Open a range by hand, or none where one of this name is open."""
        return nullcontext() if name in self.path else _Range(self._state, name, None)

    def times(self) -> list[Row]:
        """Return the times since the last call, depth first, in the order in which paths were first seen.

        Paths of before that were not called since are there, with 0 calls.
        """
        rows = []
        for node in self._root.below():
            inside_ns = sum(child.total_ns for child in node.children.values())
            rows.append(Row(node.path, node.calls, node.total_ns, node.total_ns - inside_ns))
        for node in self._root.below():
            node.calls = node.total_ns = 0
        return rows


class _Range:
    """One range: for record_function, for NVTX, and for the clock."""

    def __init__(self, state: _State, name: str, inline: bool | None) -> None:
        """Take a name, and whether functions of torch are seen in it; None leaves that as it is."""
        self._state = state
        self._name = name
        self._inline = inline

    def __enter__(self) -> None:
        state = self._state
        self._announced = _announced(self._name, state.nvtx)
        self._switched = state.functions if self._inline is not None else None
        if self._switched:
            self._before = self._switched.switch(bool(self._inline))
        self._outer = state.node
        state.node = state.node.child(self._name)
        self._start_ns = state.clock()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        state = self._state
        state.node.total_ns += state.clock() - self._start_ns
        state.node.calls += 1
        state.node = self._outer
        if self._switched:
            self._switched.switch(self._before)
        if self._announced:
            self._announced.close()


def _announced(name: str, nvtx: bool) -> ExitStack | None:
    """Tell a profiler that looks on; a record_function takes 6 µs, though nobody looks."""
    recorded = torch._C._autograd._profiler_enabled()  # noqa: SLF001
    if not recorded and not nvtx:
        return None
    stack = ExitStack()
    if recorded:
        # Kineto writes "unknown" for a name beyond ASCII.
        stack.enter_context(torch.profiler.record_function(name.replace("·", "@")))
    if nvtx:
        stack.enter_context(torch.cuda.nvtx.range(name))
    return stack


def clock_of(device: str) -> Callable[[], int]:
    """Return a clock in nanoseconds that waits for a GPU's work before it is read."""
    if device != "cuda":
        return time.perf_counter_ns

    def clock() -> int:
        torch.cuda.synchronize()
        return time.perf_counter_ns()

    return clock
