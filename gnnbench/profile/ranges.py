"""Named ranges around a library's functions, while a profile is taken.

Wrappers replace the functions, and the originals are restored afterwards. The library's files do not change.
"""

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from threading import get_ident
from types import TracebackType
from typing import Any, Self

import torch

from ..clocks import RealTime
from .inline import InlineFunctions
from .places import CLASS, Attribute, Target, find, put_originals_back

__all__ = ["RangeRow", "Ranges", "Target"]


@dataclass(frozen=True)
class RangeRow:
    """The time of one path of ranges."""

    path: tuple[str, ...]
    """Names of ranges, outermost first."""
    calls: int
    total_ns: int
    self_ns: int
    """Time outside of inner ranges; over all rows it sums to the outermost range's total."""


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
    node: _Node
    """The node of the innermost open range."""
    clock: Callable[[], int]
    nvtx: bool
    functions: InlineFunctions | None = None
    thread: int = 0
    """Id of the thread that entered; ranges are opened in this thread only."""
    elsewhere: set[str] = field(default_factory=set)
    """Names of ranges that other threads called."""


class Ranges:
    """Wraps targets while it is entered, and times their calls as a tree; it can be entered repeatedly.

    While a range is open, an inner call of the same name opens none: a method that calls its super's is one
    call, and so is Tensor.backward, which calls torch.autograd.backward.

    Entering searches for the targets, which takes milliseconds and evicts CPU caches. So timed code uses
    `switch`, which does not search.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        device: str,
        *,
        clock: Callable[[], int] = RealTime.nanoseconds,
        functions: bool = False,
    ) -> None:
        """Store the arguments; the search for targets comes on entering.

        Args:
            targets: functions to wrap; those of libraries that are not imported are ignored.
            device: on `cuda`, ranges are NVTX ranges as well.
            clock: returns nanoseconds; see `subject.clock_of`.
            functions: whether torch functions in the body of `inline` targets are ranges; see `inline`.
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
        """The names of the open ranges, outermost first."""
        return self._state.node.path

    @property
    def missing(self) -> tuple[str, ...]:
        """A line for each target that an imported library lacks, and one for calls from other threads."""
        names = ", ".join(sorted(self._state.elsewhere))
        return (*self._missing, f"{names}: what other threads call is not shown") if names else self._missing

    def __enter__(self) -> Self:
        found, self._missing = find(self._targets)  # before wrapping: subclasses would inherit wrappers
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
        """Within `with`: install the wrappers, or restore the library."""
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
        """Open a range, unless one of this name is open."""
        return nullcontext() if name in self.path else _Range(self._state, name, None)

    def times(self) -> list[RangeRow]:
        """Return the times since the last call, depth first, in order of first appearance.

        Paths that were not called since then have 0 calls.
        """
        rows = []
        for node in self._root.below():
            inside_ns = sum(child.total_ns for child in node.children.values())
            rows.append(RangeRow(node.path, node.calls, node.total_ns, node.total_ns - inside_ns))
        for node in self._root.below():
            node.calls = node.total_ns = 0
        return rows


class _Range:
    """One open range, for record_function, NVTX and the clock."""

    def __init__(self, state: _State, name: str, inline: bool | None) -> None:
        """Take a name, and whether torch functions inside become ranges; None: leave that as it is."""
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
    """Announce the range to active profilers only: a record_function takes 6 µs even without a profiler."""
    recorded = torch._C._autograd._profiler_enabled()  # noqa: SLF001
    if not recorded and not nvtx:
        return None
    stack = ExitStack()
    if recorded:
        # Kineto writes "unknown" for a name that is not ASCII.
        stack.enter_context(torch.profiler.record_function(name.replace("·", "@")))
    if nvtx:
        stack.enter_context(torch.cuda.nvtx.range(name))
    return stack
