"""Makes a few untimed calls of a benchmark, and keeps what they return and what they change.

    0  with the given inputs
    1  with new values of the same types and shapes, written over the given ones
    2  the same again; its output is read only after the given values were written back
    3  with copies of the inputs of call 2
    4  with the given inputs, moved by one unit in the last place
    5  with the new values, moved in the same way
    6 to 11  like 4 and 5 in turn, moved by 4, 16 and 64 such units

In calls 4 and 6 to 11, what torch's operators return is moved, too.

The calls from 4 on are made only where outputs differ. docs/results.md says what each call finds. A
function that caches results by content, or for the same objects, executes less in call 2 than in call 1 or
call 3; then a further call of each kind tells whether these numbers repeat.
"""

import gc
import os
import zlib
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ground.cpu import RealTime
from ...ground.outputs import TooMuchError
from ..benchmark_fixture import Pedantic
from ..clock import Call
from ..conditions import TooLongError, collector_paused, compilations, limited, seed
from ..cost import Tracer
from ..layouts import Copies
from . import given
from .effects import Effects, allocated_bytes, changed_arrays, changed_state, check_size, plain_tensors
from .given import Given, rounding, write
from .portable import Portable, array_of, portable
from .reachable import Reachable, is_array, shares_memory

GIVEN, NEW, AGAIN, COPIED, GIVEN_MOVED, NEW_MOVED = range(6)
"""The calls."""
MOVED = {GIVEN: {GIVEN_MOVED: 1, 6: 4, 8: 16, 10: 64}, NEW: {NEW_MOVED: 1, 7: 4, 9: 16, 11: 64}}
"""By how many units inputs are moved in a call, by the call with the same inputs."""
_UNITS = {**MOVED[GIVEN], **MOVED[NEW]}
ALL_NEW, NUMBERS_NEW, NONE_NEW = 2, 1, 0
"""Which inputs get new values: also indices, masks and other whole numbers; floating-point numbers; none."""
_TIMES_AS_LONG, _SECONDS_MORE = 20, 1.0
_MOST_STEPS = 3_000_000
"""Calls that execute more are not counted."""
_SHOWN = 60
"""Characters of a text that are shown."""
_TOO_LONG = f"more than {_TIMES_AS_LONG} times as long as for the given values"


class ComparedCalls:
    """The calls of one benchmark on one side; `level` says which inputs may get new values."""

    def __init__(
        self, calls: Pedantic, scope: Mapping[str, Any], *, level: int = ALL_NEW, tested: Collection[str] = ()
    ) -> None:
        self._calls, self._scope, self._tested = calls, scope, tested
        self._given = Given()
        self._limit_seconds: float | None = None
        self._first_output: dict[str, Any] = {}
        """Arrays, tensors and lists, by place."""
        self._copies: list[Call | None] = []
        """Kept alive, so that no two copies have the same address."""
        self.first_state: Mapping[str, Portable] | None = None
        """Numbers and texts in the arguments before any call, by place. None: there was none."""
        self.level = level
        self.made: dict[int, Effects] = {}
        self.inputs: dict[str, Portable] = {}
        """The inputs of the first call, by place."""
        self._may_change: set[str] = set()
        """Places of the inputs that may get new values; later calls may reach more."""
        self.writable: list[str] = []
        """Places of the inputs that do get new values."""
        self.kept = False
        """Whether a call executes less for inputs that it has seen."""
        self.refused = ""
        """What the call with more new values raised; empty if nothing."""

    def make_first(self) -> None:
        """Make the calls that do not depend on what the other side returned; raise what `make` raises."""
        start = RealTime.seconds()
        self.make(GIVEN)
        self._limit_seconds = _TIMES_AS_LONG * (RealTime.seconds() - start) + _SECONDS_MORE
        while (failure := self.make(NEW).failure) and self.level and not self.made[GIVEN].failure:
            # The function may not take such values.
            self.refused = failure
            self.level -= 1
        self.make(AGAIN)
        self._first_output = {}
        self.make(COPIED)
        work, given_work = self.made[AGAIN].work, self.made[GIVEN].work
        if work and given_work and work <= given_work:
            self.kept = self._repeats_more(work)

    def _repeats_more(self, work: int) -> bool:
        """Tell whether calls with other inputs execute more than `work`, and these numbers repeat."""
        new, copied = self.made[NEW].work, self.made[COPIED].work
        is_new = bool(self.writable) and new is not None and new > work and self.make(NEW_MOVED).work == new
        is_copied = copied is not None and copied > work and self._made(COPIED).work == copied
        return (is_new or is_copied) and self._made(AGAIN).work == work

    def make(self, number: int) -> Effects:
        """Make a call, and keep what it returned and changed; the inputs have the given values afterwards.

        Raises MemoryError if there is no room for copies of the inputs, TooMuchError if there is too much to
        compare, and what an input or an output raises when it is read.
        """
        self.made[number] = self._made(number)
        return self.made[number]

    def _made(self, number: int) -> Effects:
        call = self._calls.next_call()
        reach = Reachable(call, self._scope)
        arrays = reach.arrays.values()
        check_size("inputs", arrays)
        self._given.keep(arrays, reach.containers)
        if number == GIVEN:
            self.inputs = portable({**reach.arrays, **reach.plain}, {})
            self._may_change = set(reach.writable)
        inputs = {place: value for place, value in reach.writable.items() if self._gets_new(place, value)}
        self.writable = list(inputs)
        for value in inputs.values():
            write(value, self._target(number, value))
        try:
            if number == COPIED:
                duplicate = _copy(call)
                self._copies.append(duplicate)
                if duplicate is None:
                    return Effects()
                self._given.restore()  # what is kept of the inputs themselves has other values now
                call, reach = duplicate, Reachable(duplicate, self._scope)
            return self._returned(number, call, reach)
        finally:
            self._calls.tear_down(call)
            self._given.restore()

    def _gets_new(self, place: str, value: Any) -> bool:
        is_chosen = self.level == ALL_NEW or (self.level == NUMBERS_NEW and array_of(value).dtype.kind == "f")
        return is_chosen and place in self._may_change

    def _returned(self, number: int, call: Call, reach: Reachable) -> Effects:
        """Make a call, whose inputs already have its values, and keep what it returned and changed."""
        before = {place: self._given.now(value) for place, value in reach.arrays.items()}
        state = portable(reach.state, {})
        seed(min(number, AGAIN))
        work: AbstractContextManager[Tracer | None] = nullcontext()
        moves: AbstractContextManager[object] = nullcontext()
        if number <= NEW_MOVED and number != GIVEN_MOVED and not compilations():
            work = Tracer(_MOST_STEPS, "opcode")
        elif number in _UNITS:  # not where work is counted
            moves = rounding(_UNITS[number])
        if number == AGAIN:
            gc.collect()  # what is freed later would hide what a call keeps
        before_bytes = allocated_bytes()
        try:
            with collector_paused(), limited(self._limit_seconds), moves, work as tracer:
                output = call()
        except TooLongError:
            return Effects(failure=_TOO_LONG)
        except Exception as error:  # noqa: BLE001 - a benchmark may raise anything
            return Effects(failure=f"{type(error).__name__}: {error}")
        effects = Effects(work=tracer.total if tracer else None)
        if self._first_output:
            first = self.made[GIVEN].parts
            with plain_tensors():
                parts = portable(self._first_output, {})
            effects.overwritten = [
                place for place, part in parts.items() if part.signature != first[f"output{place}"].signature
            ]
        after = changed_arrays(reach, before)
        first_state = state if self.first_state is None else self.first_state
        after |= changed_state(first_state, state, portable(Reachable(call, self._scope).state, {}))
        if number == AGAIN and self.writable and not self.made[GIVEN].shared:
            self._given.restore()
        with plain_tensors(), moves:
            arrays = effects.read_output(
                output, reach, self._tested, has_gradients=number not in (AGAIN, COPIED)
            )
            first_arrays = list(filter(is_array, self._first_output.values()))
            effects.reused = [
                place
                for place, value in arrays.items()
                if value is self._first_output.get(place) or shares_memory(value, first_arrays)
            ]
        if number == GIVEN:
            self._first_output = arrays
            self._given.renew(reach.held)
        del arrays
        effects.parts |= after
        if number in (AGAIN, COPIED):
            del output
            effects.kept_bytes = effects.growth_bytes(before_bytes)
        return effects

    def save(self, requests: Iterable[tuple[int, str]], folder: Path) -> list[dict[str, str] | None]:
        """Write numbers as `.npy` files; return each file's name or error, or the beginning of a text.

        `requests`: the number of the call and the place of each part. None for a part that the call lacks.
        """
        files: list[dict[str, str] | None] = []
        for number, place in requests:
            part = (self.made.get(number) or self.make(number)).parts.get(place)
            if part is None or isinstance(part.content, str):
                files.append(None if part is None else {"text": str(part.content)[:_SHOWN]})
                continue
            name = f"{os.getpid()}-{len(list(folder.iterdir()))}.npy"
            try:
                np.save(folder / name, part.content, allow_pickle=False)
            except OSError as error:
                files.append({"error": error.strerror or str(error)})
            else:
                files.append({"file": name})
        return files

    def as_json(self) -> dict[str, Any]:
        """Return what is compared with the other side: hashes, not values."""
        return {
            "inputs": {place: part.signature for place, part in self.inputs.items()},
            "elements": sum(
                part.content.size for part in self.inputs.values() if not isinstance(part.content, str)
            ),
            "writable": self.writable,
            "level": self.level,
            "kept": self.kept,
            "kept_bytes": min(self.made[number].kept_bytes for number in (AGAIN, COPIED)),
            "refused": self.refused,
            "is_too_long": self.refused == _TOO_LONG,
            "calls": [effects.as_json() for effects in self.made.values()],
        }

    def _target(self, number: int, value: Any) -> NDArray[Any]:
        """Return the values that a writable input has in a call: equal inputs get equal values."""
        values = self._given.of(value)
        content = zlib.crc32(np.ascontiguousarray(values).view(np.uint8).data)
        is_new = number in (NEW, AGAIN, COPIED, *MOVED[NEW])
        if values.dtype.kind in "iub":
            return given.mirrored(values) if is_new else values
        if is_new:
            values = given.new(values, np.random.default_rng(content))
        if number in _UNITS:
            rng = np.random.default_rng([content, number])
            values = given.moved(values, str(value.dtype), rng, _UNITS[number])
        return values


def kept_inputs(calls: Pedantic) -> Given | None:
    """Return what the inputs hold. Returns None if there is too much, or if set-up makes them."""
    if calls.setup:
        return None
    reach, inputs = Reachable(calls.next_call(), {}), Given()
    try:
        check_size("inputs", reach.arrays.values())
        inputs.keep(reach.arrays.values(), reach.containers)
    except (TooMuchError, MemoryError):
        return None
    inputs.state = portable(reach.state, {})
    return inputs


def _copy(call: Call) -> Call | None:
    """Return a call with copies of its tensors and arrays. Returns None if not all can be copied.

    What the function captured is not copied, because it may be a cache.
    """
    copies = Copies()

    def of(value: Any) -> Any:
        return value.copy() if isinstance(value, np.ndarray) else copies.of(value)

    keywords = {name: of(value) for name, value in call.kwargs.items()}
    args = tuple(map(of, call.args))
    function = call.function if isinstance(call.function, FunctionType) else copies.of(call.function)
    return None if copies.failed else Call(function, args, keywords)
