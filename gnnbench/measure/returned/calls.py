"""Makes a few calls of a benchmark, and keeps what they return and what they change, untimed.

    0  with the given inputs
    1  with new values of the same types and shapes, written to where the given ones were
    2  the same again; its result is read only after the given values were written back
    3  with the given inputs, moved by one unit in the last place
    4  with the new values, moved likewise

The calls 3 and 4 are made only where results differ: they show how much rounding may change. A call with new
values finds results that are kept by address or by identity; the repeated call finds those that are kept by
content, those that are computed only when they are looked at, and random numbers.
"""

import os
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from ...outputs import parts
from .. import compilation
from ..clock import Call
from ..conditions import collector_paused
from ..layouts import MEMORY_SHARE
from ..seeds import seed
from . import other_values
from .portable import Portable, array_of, portable
from .reachable import Reachable, copy_of, shares_memory, write

GIVEN, NEW, AGAIN, GIVEN_MOVED, NEW_MOVED = range(5)
"""The calls."""
_MOST_LINES = 2_000_000
"""After so many lines of Python, counting ends: it is slow."""
_MOST_PARTS = 10_000
_SHOWN = 60
"""Characters of a text that are shown."""
_CHANGED = "{} after the call"
_GRADIENT = "gradient of {}"


@dataclass
class Returned:
    """What one call returned and changed."""

    parts: dict[str, Portable] = field(default_factory=dict)
    """By place: of the output, of the arguments that it changed, and of gradients."""
    left: dict[str, str] = field(default_factory=dict)
    """Types of parts that cannot be compared, by place."""
    lines: int | None = None
    """Lines of Python that it executed; None: they were not counted."""
    failure: str = ""
    """Type and message of what it raised; empty: nothing."""


class ComparedCalls:
    """The calls of one benchmark on one side.

    Args:
        make: returns the next call, with the given inputs.
        end: called with each call after it.
        scope: the globals of the test's module.
        fixed: whether the inputs must keep their values.
    """

    def __init__(
        self,
        make: Callable[[], Call],
        end: Callable[[Call], object],
        scope: Mapping[str, Any],
        *,
        fixed: bool,
    ) -> None:
        self._make, self._end, self._scope, self._fixed = make, end, scope, fixed
        self._given: dict[int, tuple[Any, NDArray[Any]]] = {}
        """The arrays, and copies of their content before the first call, by id."""
        self._gradients: dict[int, Any] = {}
        """Copies of the gradients that tensors had then, by id."""
        self._aliases = False
        """Whether an output lies in the memory of an input."""
        self.made: dict[int, Returned] = {}
        self.inputs: dict[str, Portable] = {}
        """The inputs of the first call, by place."""
        self.writable = False
        """Whether there are inputs that get new values."""
        self.refused = ""
        """What the call with new values raised; empty: nothing, or the given values are used again."""

    def make_first(self) -> None:
        """Make the calls that do not depend on what the other side returned.

        Raises:
            MemoryError: there is no room for copies of the inputs.
            Exception: what an input or an output raises when it is read.
        """
        self.make(GIVEN)
        if failure := self.make(NEW).failure:
            # The function may not take such values: see whether it repeats itself for the given ones.
            self.refused, self.writable, self._fixed = failure, False, True
            self.make(NEW)
        self.make(AGAIN)

    def make(self, number: int) -> Returned:
        """Make a call, and keep what it returned and changed; the inputs have the given values afterwards.

        Raises:
            MemoryError: there is no room for copies of the inputs.
            Exception: what an input or an output raises when it is read.
        """
        found = self.made[number] = Returned()
        call = self._make()
        reach = Reachable(call, self._scope)
        self._keep(reach)
        if number == GIVEN:
            known = {**reach.arrays, **reach.plain}
            self.inputs = portable(known, {})
            self.writable = bool(reach.writable) and not self._fixed
        before = {place: self._target(number, place, reach) for place in reach.arrays}
        for place, value in reach.arrays.items():
            _set(value, before[place])
        seed(number)
        try:
            try:
                with collector_paused():
                    output, found.lines = _counted(call) if number in (GIVEN, NEW, AGAIN) else (call(), None)
            except Exception as error:  # noqa: BLE001 - a benchmark may raise anything
                found.failure = f"{type(error).__name__}: {error}"
                return found
            if number == AGAIN and self.writable and not self._aliases:
                after = self._changed(reach, before)
                self._restore()
                self._read(found, output)
            else:
                after = self._changed(reach, before)
                self._read(found, output)
                if number != AGAIN:
                    self._differentiate(found, output, reach)
                    opened = parts(output, {}).values()
                    self._aliases |= any(shares_memory(one, reach.arrays) for one in opened)
            found.parts |= after
        finally:
            self._restore()
            self._end(call)
        return found

    def save(self, wanted: Iterable[tuple[int, str]], folder: Path) -> list[dict[str, str] | None]:
        """Write numbers as `.npy` files; return the name of each file, or the beginning of a text.

        Args:
            wanted: number of the call and place of each part. A part that a call does not have is None.
            folder: an existing folder.
        """
        found: list[dict[str, str] | None] = []
        for number, place in wanted:
            part = (self.made.get(number) or self.make(number)).parts.get(place)
            if part is None or isinstance(part.content, str):
                found.append(None if part is None else {"text": str(part.content)[:_SHOWN]})
                continue
            name = f"{os.getpid()}-{len(list(folder.iterdir()))}.npy"
            np.save(folder / name, part.content, allow_pickle=False)
            found.append({"file": name})
        return found

    def as_json(self) -> dict[str, Any]:
        """Return what the other side's is compared with: hashes, not values."""
        return {
            "inputs": {place: one.signature for place, one in self.inputs.items()},
            "elements": sum(
                part.content.size for part in self.inputs.values() if not isinstance(part.content, str)
            ),
            "writable": self.writable,
            "refused": self.refused,
            "calls": [
                {
                    "parts": {place: part.signature for place, part in one.parts.items()},
                    "left": one.left,
                    "lines": one.lines,
                    "failure": one.failure,
                }
                for one in self.made.values()
            ],
        }

    def _keep(self, reach: Reachable) -> None:
        """Copy the content of arrays that have not been seen."""
        new = [one for one in reach.arrays.values() if id(one) not in self._given]
        needed = sum(one.nbytes for one in new)
        if needed > MEMORY_SHARE * psutil.virtual_memory().available:
            raise MemoryError(f"too large to copy: {needed / 2**30:.1f} GiB of inputs")
        for one in new:
            self._given[id(one)] = one, copy_of(one)
            if _is_tensor(one) and one.is_leaf and one.requires_grad:
                self._gradients[id(one)] = None if one.grad is None else one.grad.clone()

    def _target(self, number: int, place: str, reach: Reachable) -> NDArray[Any]:
        """Return the values that an input has in a call."""
        given = self._given[id(reach.arrays[place])][1]
        if self._fixed or place not in reach.writable:
            return given
        rng = np.random.default_rng(zlib.crc32(place.encode()))
        values = other_values.new(given, rng) if number in (NEW, AGAIN, NEW_MOVED) else given
        kind = str(reach.arrays[place].dtype)
        return other_values.moved(values, kind, rng) if number in (GIVEN_MOVED, NEW_MOVED) else values

    def _restore(self) -> None:
        for value, content in self._given.values():
            _set(value, content)
            if id(value) in self._gradients:
                gradient = self._gradients[id(value)]
                value.grad = None if gradient is None else gradient.clone()

    def _changed(self, reach: Reachable, before: Mapping[str, NDArray[Any]]) -> dict[str, Portable]:
        """Return the arguments that the call changed, and the gradients that it left."""
        found = {
            _CHANGED.format(place): value
            for place, value in reach.arrays.items()
            if not _equal(array_of(value), before[place])
        }
        gradients = {
            _GRADIENT.format(place): value.grad.detach().clone()
            for place, value in reach.arrays.items()
            if _is_tensor(value) and value.is_leaf and value.grad is not None
        }
        return {
            name: Portable(one.kind, one.content if isinstance(one.content, str) else one.content.copy())
            for name, one in portable({**found, **gradients}, {}).items()
        }

    def _read(self, found: Returned, output: Any) -> None:
        """Look at an output, and keep copies: it may lie in the memory of an input."""
        opened = parts(output, found.left)
        if len(opened) > _MOST_PARTS:
            raise ValueError(f"the output has {len(opened):,} parts, more than {_MOST_PARTS:,}")
        for place, part in portable(opened, found.left).items():
            content = part.content if isinstance(part.content, str) else part.content.copy()
            found.parts[f"output{place}"] = Portable(part.kind, content)

    def _differentiate(self, found: Returned, output: Any, reach: Reachable) -> None:
        """Compute the gradients of an output that needs some, in directions that both sides share."""
        torch = sys.modules.get("torch")
        tensors = [one for one in parts(output, {}).values() if _is_tensor(one) and one.requires_grad]
        leaves = {
            place: one
            for place, one in reach.arrays.items()
            if _is_tensor(one) and one.requires_grad and one.is_leaf
        }
        if not torch or not tensors or not leaves:
            return
        directions = [torch.linspace(1, 2, one.numel()).to(one).reshape(one.shape) for one in tensors]
        try:
            gradients = torch.autograd.grad(tensors, list(leaves.values()), directions, allow_unused=True)
        except RuntimeError:  # the call ran backward itself, and freed the graph
            return
        given = {
            f"{_GRADIENT.format(place)} by the output": one
            for place, one in zip(leaves, gradients, strict=True)
            if one is not None
        }
        found.parts |= portable(given, found.left)


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return bool(torch) and isinstance(value, torch.Tensor)  # type: ignore[union-attr]


def _equal(left: NDArray[Any], right: NDArray[Any]) -> bool:
    return left.shape == right.shape and bool(np.array_equal(left, right, equal_nan=left.dtype.kind in "fc"))


def _set(value: Any, content: NDArray[Any]) -> None:
    """Write a content unless it is there: a write may make what was kept of the value invalid."""
    present = array_of(value)
    if present.shape == content.shape and not _equal(present, content):
        write(value, content)


def _counted(call: Call) -> tuple[Any, int | None]:
    """Make a call; return its result, and the lines of Python that it executed in this thread.

    They are not counted where code was compiled, which runs no Python, and where there are very many.
    """
    if compilation.counts():
        return call(), None
    lines = 0

    def trace(_frame: Any, event: str, _argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        if lines > _MOST_LINES:
            sys.settrace(None)
            return None
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        result = call()
    finally:
        sys.settrace(before)
    return result, lines if lines <= _MOST_LINES else None
