"""Makes a few untimed calls of a benchmark, and saves their effects for the comparison of base and head.

    0  with the original inputs
    1  with new values of the same types and shapes, written over the original values
    2  like 1; the output is read after the original values were restored
    3  with copies of the inputs of call 2, which have the new values
    4  with the original inputs, moved by one unit in the last place (ULP)
    5  with the new values, moved by one ULP
    6 to 11  alternately like 4 and like 5, moved by 4, 16 and 64 ULP

In calls 4 and 6 to 11, the results of torch's operators are moved, too. In call 5 they are not, because steps
are counted in this call. Calls from 4 on are made only if outputs differ. docs/results.md explains each call.

A function that caches its results executes fewer steps in call 2 than in call 1 (a cache by content) or call
3 (a cache by object). In this case, more calls with such inputs are made, to check that the numbers repeat.
"""

import gc
import os
import zlib
from collections.abc import Collection, Mapping
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
from ..conditions import TooLongError, collector_paused, compilations, seed, time_limit
from ..cost import Tracer
from ..layouts import Copies
from . import inputs
from .effects import Effects, allocated_bytes, changed_arguments, check_size, plain_tensors
from .inputs import Snapshot, rounding, write
from .portable import Portable, array_of, to_portable
from .reachable import Reachable, is_array, is_of_argument, set_gradients, shares_memory

GIVEN, NEW, AGAIN, COPIED, GIVEN_MOVED, NEW_MOVED = range(6)
"""Numbers of the calls."""
MOVED = {GIVEN: {GIVEN_MOVED: 1, 6: 4, 8: 16, 10: 64}, NEW: {NEW_MOVED: 1, 7: 4, 9: 16, 11: 64}}
"""By the call with unmoved inputs: the calls with moved inputs, each with its number of ULP."""
_UNITS = {**MOVED[GIVEN], **MOVED[NEW]}
ALL_NEW, NUMBERS_NEW, NONE_NEW = 2, 1, 0
"""Levels of new values: all inputs get them, only floating-point inputs, or no input."""
_TIMES_AS_LONG, _SECONDS_MORE = 20, 1.0
"""A call may take this many times as long as the first one, plus these seconds."""
_MOST_STEPS = 3_000_000
"""If a call has more steps, they are not counted."""
_TOO_LONG = f"more than {_TIMES_AS_LONG} times as long as for the given values"


class ComparedCalls:
    """The calls of a benchmark in one process; `level` says which inputs may get new values."""

    def __init__(
        self, calls: Pedantic, scope: Mapping[str, Any], *, level: int = ALL_NEW, tested: Collection[str] = ()
    ) -> None:
        self._calls, self._scope, self._tested = calls, scope, tested
        self._snapshot = Snapshot()
        self._limit_seconds: float | None = None
        self._first_output: dict[str, Any] = {}
        """Arrays, tensors and lists of the first output, by place."""
        self._copies: list[Call | None] = []
        """References to copied calls, so that no two copies have the same address."""
        self.first_state: Mapping[str, Portable] | None = None
        """See `Snapshot.state`: the arguments before all calls. None if they were not saved."""
        self.level = level
        self.effects: dict[int, Effects] = {}
        """Effects of the calls, by number."""
        self.inputs: dict[str, Portable] = {}
        """The inputs of the first call, by place."""
        self._may_change: set[str] = set()
        """Places of inputs of the first call that may get new values; later calls may reach more inputs."""
        self.writable: list[str] = []
        """Places of inputs that get new values."""
        self.has_cache = False
        """Whether a call executes fewer steps for inputs of an earlier call."""
        self.refused = ""
        """Error of a call at a higher level of new values; empty if there was none."""

    def make_first(self) -> None:
        """Make calls 0 to 3. Raises the same errors as `make`."""
        start = RealTime.seconds()
        self.make(GIVEN)
        self._limit_seconds = _TIMES_AS_LONG * (RealTime.seconds() - start) + _SECONDS_MORE
        while (failure := self.make(NEW).failure) and self.level and not self.effects[GIVEN].failure:
            self.refused = failure  # the function may not accept such values
            self.level -= 1
        self.make(AGAIN)
        self._first_output = {}
        self.make(COPIED)
        steps, first_steps = self.effects[AGAIN].steps, self.effects[GIVEN].steps
        if steps and first_steps and steps <= first_steps:
            self.has_cache = self._has_cache(steps)

    def _has_cache(self, steps: int) -> bool:
        """Return whether calls with other inputs execute more steps than call 2, also when repeated."""
        new, copied = self.effects[NEW].steps, self.effects[COPIED].steps
        is_new = bool(self.writable) and new is not None and new > steps and self.make(NEW_MOVED).steps == new
        is_copied = copied is not None and copied > steps and self._make(COPIED).steps == copied
        return (is_new or is_copied) and self._make(AGAIN).steps == steps

    def make(self, number: int) -> Effects:
        """Make a call, save its effects, and restore the inputs. Raises MemoryError or TooMuchError."""
        self.effects[number] = self._make(number)
        return self.effects[number]

    def _make(self, number: int) -> Effects:
        """Write the inputs of a call, make the call, and restore the inputs."""
        call = self._calls.next_call()
        reach = Reachable(call, self._scope)
        arrays = reach.arrays.values()
        check_size("inputs", (*arrays, *reach.containers))
        self._snapshot.add(arrays, reach.containers)
        if number == GIVEN:
            self.inputs = to_portable({**reach.arrays, **reach.plain}, {})
            first_state = self.first_state or {}
            self.inputs |= {place: first_state[place] for place in self.inputs.keys() & first_state.keys()}
            self._may_change = set(reach.writable)
        writable = {place: value for place, value in reach.writable.items() if self._gets_new(place, value)}
        self.writable = list(writable)
        for value in writable.values():
            write(value, self._target(number, value))
        try:
            if number == COPIED:
                duplicate = _copy(call)
                self._copies.append(duplicate)
                if duplicate is None:
                    return Effects()
                self._snapshot.restore()  # results that the function cached for the originals must not match
                call, reach = duplicate, Reachable(duplicate, self._scope)
            return self._effects_of(number, call, reach)
        finally:
            self._calls.tear_down(call)
            self._snapshot.restore()

    def _gets_new(self, place: str, value: Any) -> bool:
        kinds = {ALL_NEW: "biufc", NUMBERS_NEW: "fc", NONE_NEW: ""}[self.level]
        return place in self._may_change and array_of(value).dtype.kind in kinds

    def _effects_of(self, number: int, call: Call, reach: Reachable) -> Effects:
        """Make a call whose inputs have been written, and return its effects."""
        before = self._snapshot.values(reach)
        seed(min(number, AGAIN))  # all calls from AGAIN on have the same seed
        counting: AbstractContextManager[Tracer | None] = nullcontext()
        moving: AbstractContextManager[object] = nullcontext()
        if number <= NEW_MOVED and number != GIVEN_MOVED and not compilations():
            counting = Tracer(_MOST_STEPS)
        elif number in _UNITS:  # moving adds steps, which must not be counted
            moving = rounding(_UNITS[number])
        if number == AGAIN:
            gc.collect()  # memory that is freed later would hide memory that a call retains
        before_bytes = allocated_bytes()
        try:
            with collector_paused(), time_limit(self._limit_seconds), moving, counting as tracer:
                output = call()
        except TooLongError:
            return Effects(failure=_TOO_LONG)
        except Exception as error:  # noqa: BLE001 - a benchmark may raise anything
            return Effects(failure=f"{type(error).__name__}: {error}")
        effects = Effects(steps=tracer.total if tracer else None)
        if self._first_output:
            first = self.effects[GIVEN].parts
            with plain_tensors():
                parts = to_portable(self._first_output, {})
            effects.overwritten = [
                place for place, part in parts.items() if part.signature != first[f"output{place}"].signature
            ]
        changes = self._changes(reach, before, Reachable(call, self._scope))
        if number == AGAIN and self.writable and not self.effects[GIVEN].shared:
            self._snapshot.restore()  # an output that still reads the inputs' memory changes now
        with plain_tensors(), moving:
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
            self._snapshot.update(reach.containers_of_objects)
        del arrays  # references would count as retained memory
        effects.parts |= changes
        if number in (AGAIN, COPIED):
            del output
            effects.retained_bytes = effects.growth_bytes(before_bytes)
        return effects

    def _changes(
        self, reach: Reachable, before: Mapping[str, Portable], after: Reachable
    ) -> dict[str, Portable]:
        """Return the arguments that a call, or earlier calls, changed, and the gradients that it set."""
        first = before
        if self.first_state is not None:
            written = (place for place in before if place in self.writable or not is_of_argument(place))
            first = {**self.first_state, **{place: before[place] for place in written}}
        arrays = {place: value for place, value in after.arrays.items() if is_of_argument(place)}
        values = to_portable({**reach.arrays, **arrays, **after.state}, {})
        gradients = to_portable(set_gradients(reach.arrays), {})
        return changed_arguments(first, before, values) | gradients

    def save(self, number: int, place: str, folder: Path) -> dict[str, str] | None:
        """Return the text at a place, or the `.npy` file to which the array was written, or an error.

        Returns None if the call has no value at this place.
        """
        part = (self.effects.get(number) or self.make(number)).parts.get(place)
        if part is None or isinstance(part.content, str):
            return None if part is None else {"text": str(part.content)}
        name = f"{os.getpid()}-{len(list(folder.iterdir()))}.npy"
        try:
            np.save(folder / name, part.content, allow_pickle=False)
        except OSError as error:
            return {"error": error.strerror or str(error)}
        return {"file": name}

    def as_json(self) -> dict[str, Any]:
        """Return the effects for the coordinating process: hashes, not values."""
        return {
            "inputs": {place: part.signature for place, part in self.inputs.items()},
            "elements": sum(
                part.content.size for part in self.inputs.values() if not isinstance(part.content, str)
            ),
            "writable": self.writable,
            "level": self.level,
            "kept": self.has_cache,
            "kept_bytes": min(self.effects[number].retained_bytes for number in (AGAIN, COPIED)),
            "refused": self.refused,
            "is_too_long": self.refused == _TOO_LONG,
            "calls": [effects.as_json() for effects in self.effects.values()],
        }

    def _target(self, number: int, value: Any) -> NDArray[Any]:
        """Return the values to write to an input for a call. Equal inputs get equal values."""
        values = self._snapshot.saved(value)
        content = zlib.crc32(np.ascontiguousarray(values).view(np.uint8).data)
        is_new = number in (NEW, AGAIN, COPIED, *MOVED[NEW])
        if values.dtype.kind in "iub":
            return inputs.mirror_indices(values) if is_new else values
        if is_new:
            values = inputs.new_values(values, np.random.default_rng(content))
        if number in _UNITS:
            rng = np.random.default_rng([content, number])
            values = inputs.move_values(values, str(value.dtype), rng, _UNITS[number])
        return values


def snapshot_inputs(calls: Pedantic) -> Snapshot | None:
    """Return a snapshot of the inputs. Returns None if they are too large, or if `setup` makes them."""
    if calls.setup:
        return None
    reach, snapshot = Reachable(calls.next_call(), {}), Snapshot()
    try:
        check_size("inputs", reach.arrays.values())
        snapshot.add(reach.arrays.values(), reach.containers)
    except (TooMuchError, MemoryError):
        return None
    snapshot.state = snapshot.values(reach)
    return snapshot


def _copy(call: Call) -> Call | None:
    """Return a call with copies of its tensors and arrays. Returns None if one cannot be copied."""
    copies = Copies()  # not of captured values: they may be caches

    def of(value: Any) -> Any:
        return value.copy() if isinstance(value, np.ndarray) else copies.of(value)

    keywords = {name: of(value) for name, value in call.kwargs.items()}
    args = tuple(map(of, call.args))
    function = call.function if isinstance(call.function, FunctionType) else copies.of(call.function)
    return None if copies.failed else Call(function, args, keywords)
