"""Makes a few calls of a benchmark, and keeps what they return and what they change, untimed.

    0  with the given inputs
    1  with new values of the same types and shapes, written to where the given ones were
    2  the same again; its result is read only after the given values were written back
    3  with the given inputs, moved by one unit in the last place
    4  with the new values, moved likewise
    5 to 10  in turn as 3 and 4, moved by 4, 16 and 64 such units

The calls from 3 on are made only where results differ: they show how much rounding may change. A call with
new values finds results that are kept by address or by identity; the repeated call finds those that are kept
by content, those that are computed only when they are looked at, and random numbers. Call 4 is also made if
call 2 ran fewer lines of Python than call 1: where results are kept by content, it runs as many as call 1.

Indices get no new values. Where no input does, two calls get copies of the inputs: what is kept by address or
by identity runs more lines of Python there than in call 2.
"""

import os
import sys
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...outputs import parts
from .. import compilation
from ..clock import Call
from ..conditions import collector_paused, seed
from ..copies import Copies, strided_parts
from ..seam import Pedantic
from . import given
from .given import Given, equal, write
from .portable import Portable, array_of, portable
from .reachable import Reachable, gradients_by_output, gradients_left, shares_memory

GIVEN, NEW, AGAIN, GIVEN_MOVED, NEW_MOVED = range(5)
"""The calls."""
MOVED = {GIVEN: {GIVEN_MOVED: 1, 5: 4, 7: 16, 9: 64}, NEW: {NEW_MOVED: 1, 6: 4, 8: 16, 10: 64}}
"""By how many units inputs are moved in a call, by the call with the same inputs."""
_UNITS = {**MOVED[GIVEN], **MOVED[NEW]}
_MOST_LINES = 2_000_000
"""After so many lines of Python, counting ends: it is slow."""
_MOST_PARTS = 10_000
_MOST_BYTES = 192 << 20
"""Of inputs, and of the output of a call: several calls have copies, and those are hashed."""
_SHOWN = 60
"""Characters of a text that are shown."""
_CHANGED = "{} after the call"


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
    differentiable: bool = False
    """Whether its output has gradients, and not by a graph that it has freed."""


class TooMuchError(Exception):
    """Inputs or outputs are not compared, because there are too many; the message is a line."""


class ComparedCalls:
    """The calls of one benchmark on one side.

    Args:
        calls: the calls, with the given inputs.
        scope: the globals of the test's module.
        fixed: whether the inputs must keep their values.
    """

    def __init__(self, calls: Pedantic, scope: Mapping[str, Any], *, fixed: bool) -> None:
        self._calls, self._scope, self._fixed = calls, scope, fixed
        self._given = Given()
        self._aliases = False
        """Whether an output lies in the memory of an input."""
        self.made: dict[int, Returned] = {}
        self.inputs: dict[str, Portable] = {}
        """The inputs of the first call, by place."""
        self.writable: list[str] = []
        """Places of the inputs that get new values."""
        self.kept = False
        """Whether a call executes fewer lines of Python for inputs that it has seen."""
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
            self.refused, self.writable = failure, []
            self.make(NEW)
        self.make(AGAIN)
        given, new, again = (self.made[number].lines or 0 for number in (GIVEN, NEW, AGAIN))
        if self.writable and 0 < again < new and again <= given:
            # A first warning, random numbers, or waiting for other threads and processes may have made the
            # call with new values longer: then the next one with such values executes another number.
            self.kept = self.make(NEW_MOVED).lines == new
        elif not self.writable and 0 < again <= given:
            first, second = self._lines_on_copies()
            self.kept = first is not None and again < first == second

    def make(self, number: int) -> Returned:
        """Make a call, and keep what it returned and changed; the inputs have the given values afterwards.

        Raises:
            MemoryError: there is no room for copies of the inputs.
            TooMuchError: the inputs or the output are too large.
            Exception: what an input or an output raises when it is read.
        """
        found = self.made[number] = Returned()
        call = self._calls.inputs()
        reach = Reachable(call, self._scope)
        _check_size("inputs", reach.arrays.values())
        self._given.keep(reach.arrays.values())
        if number == GIVEN:
            known = {**reach.arrays, **reach.plain}
            self.inputs = portable(known, {})
            self.writable = [] if self._fixed else list(reach.writable)
        for value in reach.arrays.values():
            write(value, self._given.of(value))
        for value in () if self._fixed else reach.writable.values():
            write(value, self._target(number, value))
        before = {place: self._given.now(value) for place, value in reach.arrays.items()}
        seed(min(number, AGAIN))
        try:
            try:
                with collector_paused():
                    output, found.lines = (
                        _counted(call) if number in (GIVEN, NEW, AGAIN, NEW_MOVED) else (call(), None)
                    )
            except Exception as error:  # noqa: BLE001 - a benchmark may raise anything
                found.failure = f"{type(error).__name__}: {error}"
                return found
            after = self._changed(reach, before)
            if number == AGAIN and self.writable and not self._aliases:
                self._given.restore()
            self._read(found, output)
            if number != AGAIN:
                opened = parts(output, {}).values()
                self._aliases |= any(shares_memory(one, reach.arrays) for one in opened)
                by_output, found.differentiable = gradients_by_output(opened, reach.arrays)
                found.parts |= portable(by_output, found.left)
            found.parts |= after
        finally:
            self._given.restore()
            self._calls.tear_down(call)
        return found

    def _lines_on_copies(self) -> list[int | None]:
        """Return how many lines of Python two calls execute, each with copies of the given inputs.

        None: they were not counted, the call raised, or its inputs cannot be copied.
        """
        calls = [self._calls.inputs() for _ in range(2)]
        copied = [_copy(call) for call in calls]  # both exist at once, so their addresses differ
        seed(AGAIN)
        try:
            with collector_paused():
                return [_counted(one)[1] if one else None for one in copied]
        except Exception:  # noqa: BLE001 - a benchmark may raise anything
            return [None, None]
        finally:
            self._given.restore()
            for call in calls:
                self._calls.tear_down(call)

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
            "kept": self.kept,
            "refused": self.refused,
            "calls": [
                {
                    "parts": {place: part.signature for place, part in one.parts.items()},
                    "left": one.left,
                    "failure": one.failure,
                    "differentiable": one.differentiable,
                }
                for one in self.made.values()
            ],
        }

    def _target(self, number: int, value: Any) -> NDArray[Any]:
        """Return the values that an input which may get others has in a call: equal inputs get equal ones."""
        values = self._given.of(value)
        content = zlib.crc32(np.ascontiguousarray(values).view(np.uint8).data)
        if number in (NEW, AGAIN, *MOVED[NEW]) and not self.refused:
            values = given.new(values, np.random.default_rng(content))
        if number > AGAIN:
            rng = np.random.default_rng([content, number])
            values = given.moved(values, str(value.dtype), rng, _UNITS[number])
        return values

    def _changed(self, reach: Reachable, before: Mapping[str, NDArray[Any]]) -> dict[str, Portable]:
        """Return the arguments that the call changed, and the gradients that it left."""
        found = {
            _CHANGED.format(place): value
            for place, value in reach.arrays.items()
            if not equal(array_of(value), before[place])
        }
        found |= gradients_left(reach.arrays)
        return {name: one.copied() for name, one in portable(found, {}).items()}

    def _read(self, found: Returned, output: Any) -> None:
        """Look at an output, and keep copies: it may lie in the memory of an input."""
        opened = {} if output is None else parts(output, found.left)
        if len(opened) > _MOST_PARTS:
            raise TooMuchError(f"the output has {len(opened):,} parts, more than {_MOST_PARTS:,}")
        _check_size("the output", opened.values())
        for place, part in portable(opened, found.left).items():
            found.parts[f"output{place}"] = part.copied()


def _check_size(what: str, values: Iterable[Any]) -> None:
    strided = (part for value in values for part in _strided(value))
    if sum(getattr(part, "nbytes", 0) for part in strided) > _MOST_BYTES:
        raise TooMuchError(f"{what} larger than {_MOST_BYTES >> 20:,} MiB")


def _strided(value: Any) -> tuple[Any, ...]:
    """Return the parts of a sparse or nested tensor, or the value itself."""
    return (strided_parts(value) if hasattr(value, "layout") else ()) or (value,)


def _copy(call: Call) -> Call | None:
    """Return a call with copies of its tensors and arrays; None: not all can be copied.

    Those that a function captured are not: they may be what it keeps.
    """
    copies = Copies()

    def of(value: Any) -> Any:
        return value.copy() if isinstance(value, np.ndarray) else copies.of(value)

    keywords = {name: of(value) for name, value in call.kwargs.items()}
    args = tuple(map(of, call.args))
    function = call.function if isinstance(call.function, FunctionType) else copies.of(call.function)
    return None if copies.torn else Call(function, args, keywords)


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
