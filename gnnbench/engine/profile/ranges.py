"""Named ranges around a library's functions, while a profile is taken.

Wrappers replace the functions, and the originals are restored afterwards. The library's files do not change.
"""

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import get_ident
from types import TracebackType
from typing import Any, Self

import torch

from ..ground.cpu import RealTime
from .inline import InlineFunctions
from .targets import CLASS, Attribute, Target, find, put_originals_back


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


class Ranges:
    """Wraps targets while it is entered, and times their calls as a tree; it can be entered repeatedly.

    While a range is open, an inner call of the same name opens none: a method that calls its super's is one
    call, and so is Tensor.backward, which calls torch.autograd.backward. Torch functions in the body of
    `inline` targets are ranges, too; see `inline`.

    Entering searches for the targets, which takes milliseconds and evicts CPU caches. So timed code uses
    `switch`, which does not search.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        device: str,
        *,
        clock: Callable[[], int] = RealTime.nanoseconds,
    ) -> None:
        """Store the arguments; the search for targets comes on entering.

        Args:
            device: on `cuda`, ranges are NVTX ranges as well.
        """
        self._targets, self._nvtx, self._clock = targets, device == "cuda", clock
        self._missing: tuple[str, ...] = ()
        self._root = _Node()
        self._open = [self._root]
        """The nodes of the open ranges, outermost first."""
        self._functions = InlineFunctions(self.range)
        self._thread = 0
        """Id of the thread that entered; ranges are opened in this thread only."""
        self._elsewhere: set[str] = set()
        """Names of ranges that other threads called."""
        self._wrappers: list[tuple[Attribute, Any]] = []
        self._originals: dict[int, Any] = {}
        self._modules: set[str] = set()
        self._installed: ExitStack | None = None

    @property
    def path(self) -> tuple[str, ...]:
        """The names of the open ranges, outermost first."""
        return self._open[-1].path

    @property
    def missing(self) -> tuple[str, ...]:
        """A line for each target that an imported library lacks, and one for calls from other threads."""
        names = ", ".join(sorted(self._elsewhere))
        return (*self._missing, f"{names}: what other threads call is not shown") if names else self._missing

    def __enter__(self) -> Self:
        found, self._missing = find(self._targets)  # before wrapping: subclasses would inherit wrappers
        self._wrappers, self._originals = [], {}
        for target, attribute in found:
            name = target.name.replace(CLASS, attribute.owner.__name__)
            self._wrappers.append((attribute, self._wrapped(attribute.value, name, target.inline)))
        self._modules = set(sys.modules)
        self._thread = get_ident()
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
        if self._installed and not on:
            self._installed.close()
            self._installed = None
        elif on and not self._installed:
            with ExitStack() as stack:
                for attribute, wrapper in self._wrappers:
                    stack.callback(attribute.put_back)
                    setattr(attribute.owner, attribute.name, wrapper)
                self._installed = stack.pop_all()

    def _wrapped(self, value: Any, name: str, inline: bool) -> Any:
        if isinstance(value, staticmethod | classmethod):
            return type(value)(self._wrapped(value.__func__, name, inline))

        @functools.wraps(value)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():  # a range would break the graph
                return value(*args, **kwargs)
            if get_ident() != self._thread:
                self._elsewhere.add(name)
                return value(*args, **kwargs)
            if name in self.path:
                return value(*args, **kwargs)
            end = self._begin(name, inline)
            try:
                return value(*args, **kwargs)
            finally:
                end()

        self._originals[id(wrapper)] = value
        return wrapper

    @contextmanager
    def range(self, name: str) -> Iterator[None]:
        """Open a range, unless one of this name is open."""
        end = None if name in self.path else self._begin(name)
        try:
            yield
        finally:
            if end:
                end()

    def _begin(self, name: str, inline: bool | None = None) -> Callable[[], None]:
        """Open a range, and return what closes it. A context manager of contextlib would take 1 µs more.

        Args:
            inline: whether torch functions become ranges in it; None: as around it.
        """
        announced = _announced(name, self._nvtx)
        before = None if inline is None else self._functions.switch(inline)
        node = self._open[-1].child(name)
        self._open.append(node)
        start_ns = self._clock()

        def end() -> None:
            node.total_ns += self._clock() - start_ns
            node.calls += 1
            self._open.pop()
            if before is not None:
                self._functions.switch(before)
            if announced:
                announced.close()

        return end

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
