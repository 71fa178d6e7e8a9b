"""Compares what base and head, the two sides, return for the same inputs.

A *place*, such as `argument 1` or `output['x'][0]`, names a value in the inputs or the output. Each side
answers with the type, shape and hash of each value; the value itself is fetched only if these differ.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from os.path import commonprefix
from typing import Any

import numpy as np

from ..ground import units
from ..ground.parts import is_private
from ..judge.closeness import Closeness, as_in_base, compare, digits, input_of
from ..judge.comparison import Agreement, not_compared
from ..measure.returned.calls import AGAIN, COPIED, GIVEN, MOVED, NEW
from ..measure.returned.effects import LEAST_KEPT_BYTES
from ..measure.returned.portable import TEXT
from .variants.child import SIDES

Part = Sequence[Any]
"""The type, the shape and the hash of a value."""
Values = Any
"""A NumPy array, a text, or None."""
Fetch = Callable[[int, int, str], Values]
"""A function that returns the value at a place, given the number of the side, the number of the call and the
place. It returns None if the call has no value at this place."""
_BASE, _HEAD = range(2)
_SHOWN = 60
"""Largest number of characters that are shown of a text."""
_MOST = 5
"""Largest number of notes that are shown."""
_SMALL = 2.0**-6
"""If the error is more than this fraction of the largest value, lower precision is not the cause."""
_MANY = 0.25
"""If less than this fraction of the numbers differs, lower precision is not the cause."""
_CLEARLY = 2.0
"""A side is called less precise if its error is more than this many times the error of the other side."""
HEAD_RAISES = "the head raises "
"""Beginning of the reason if only the head raises an error."""
_INPUTS = "the inputs differ: "
_UNSTEADY = "two calls of the base with equal inputs differ: random numbers, stored state or changing order"
_VALUES = "different values: random without a seed, or from the time, a file or an earlier benchmark"
_REPEATED = "the head, unlike the base, executes less code if an earlier call had the same inputs"
_TOO_LONG = "compared with fewer new input values, as more of them make a call over 20 times as slow"
_HARMLESS = {"type": "type", "order": "order of the keys", "code": "code"}
"""What may differ of an output, by the last word of the place."""
_ATTRIBUTE = re.compile(r"^output.*\.\w+$| after the calls$")


class _DifferError(Exception):
    """The outputs differ; the message says how."""


def depends_on_process(result: Agreement) -> bool:
    """Tell whether outputs may differ merely because the sides run in two processes, as addresses do."""
    return result.is_different or result.reason == _UNSTEADY or result.reason.startswith(_INPUTS)


def agreement(
    base: Mapping[str, Any],
    head: Mapping[str, Any],
    fetch: Fetch,
    without: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
    note: str = "",
) -> Agreement:
    """Return how far answers to `return` agree, without places that `without` removes and `note` names."""
    for side, answer in zip(SIDES, (base, head), strict=True):
        if answer["answer"] != "returned":
            return not_compared(answer["reason"])
        if side == "base" and (failure := answer["calls"][GIVEN]["failure"]):
            return not_compared(f"base: another call raises {failure}")
    head, names = as_in_base(base, head)
    base, head = without(base), without(head)
    if reason := _input_difference(base["inputs"], head["inputs"]):
        return not_compared(reason)

    def fetch_renamed(side: int, number: int, place: str) -> Values:
        return fetch(side, number, names.get(place, place) if side == _HEAD else place)

    return _OutputComparison((base, head), fetch_renamed, note).agreement()


def head_refuses(base: Mapping[str, Any], head: Mapping[str, Any]) -> bool:
    """Tell whether the head raises an error for new input values that the base accepts."""
    return bool(head.get("refused")) and not head["is_too_long"] and head["level"] < base.get("level", 0)


def _input_difference(base: Mapping[str, Any], head: Mapping[str, Any]) -> str:
    """Return a text on the first of both sides' common inputs that differs, or an empty text."""
    for place in base.keys() & head.keys():
        (kind, shape, content), (head_kind, head_shape, head_content) = base[place], head[place]
        if (kind, shape) != (head_kind, head_shape):
            base_type, head_type = _type_and_shape(kind, shape), _type_and_shape(head_kind, head_shape)
            return f"{_INPUTS}{place} is {head_type} in the head and {base_type} in the base"
        if content != head_content:
            return f"{_INPUTS}{place} has {_VALUES}"
    return ""


def _type_and_shape(kind: str, shape: Sequence[int]) -> str:
    return f"{kind} {list(shape)}" if shape else kind


class _OutputComparison:
    """Compares the two sides call by call, and collects what could not be compared."""

    def __init__(self, sides: tuple[Mapping[str, Any], Mapping[str, Any]], fetch: Fetch, note: str) -> None:
        self._sides, self._fetch = sides, fetch
        self._inputs, self._calls = ([side[name] for side in sides] for name in ("inputs", "calls"))
        self._input_elements = sides[_BASE]["elements"]
        self._replaced = [set(side["writable"]) for side in sides]
        self._same_replaced = self._replaced[_BASE] == self._replaced[_HEAD]
        """Whether gnnbench replaces the values of the same inputs on both sides by new ones."""
        self._notes = [note] if note else []
        """What could not be compared, or differs without harm."""
        self._lacking: list[str] = []
        """Texts on inputs that only one side has."""
        self._compared = 0
        """How many values were compared."""
        self._worst = 0.0
        """The largest error among values that count as close, in units in the last place."""

    def agreement(self) -> Agreement:
        """Compare all calls; return how far they agree, and what could not be compared."""
        if not self._repeats(_BASE):
            return not_compared(_UNSTEADY)
        try:
            self._compare_all()
        except _DifferError as error:
            return Agreement("differ", str(error))
        if self._lacking:
            return not_compared(f"the sides get different inputs: only the {self._lacking[0]}")
        notes = [*dict.fromkeys(self._notes)]
        notes[_MOST:] = [f"{len(notes) - _MOST} more"] if len(notes) > _MOST else []
        reservation = "; ".join(notes)
        if not self._compared:
            return not_compared(reservation or "the call returns nothing and changes no argument")
        repeated = self._same_replaced and self._sides[_HEAD]["kept"] and not self._sides[_BASE]["kept"]
        is_too_long = any(side["is_too_long"] for side in self._sides)
        reason = _REPEATED if repeated else _TOO_LONG if is_too_long else ""
        worst = self._worst or None
        return Agreement(
            "close" if worst else "equal", reason, worst, only_repeated=repeated, reservation=reservation
        )

    def _compare_all(self) -> None:
        base, head = self._sides
        self._compare(GIVEN)
        self._compare_shared()
        if head_refuses(base, head):
            raise _DifferError(f"{HEAD_RAISES}{head['refused']} for new input values, but the base does not")
        if self._same_replaced:
            if self._replaced[_BASE]:
                self._compare(NEW)
                if all(calls[COPIED]["parts"] for calls in self._calls):
                    self._compare(COPIED)
            for number, which in ((NEW, "the next"), (AGAIN, "a later")):
                for place in self._of_head_only(number, "overwritten"):
                    raise _DifferError(f"in the head, {which} call overwrites output{place}")
        for side, other in ((_BASE, _HEAD), (_HEAD, _BASE)):
            only_here = sorted(self._replaced[side] - self._replaced[other])
            self._lacking += [f"{SIDES[side]} has {place}" for place in only_here]
        if not self._repeats(_HEAD):
            raise _DifferError("two calls with the same inputs return different outputs in the head only")
        more = head["kept_bytes"] - base["kept_bytes"]
        if more > LEAST_KEPT_BYTES:
            raise _DifferError(
                f"a call of the head keeps {units.size(more)} more memory than one of the base"
            )

    def _compare_shared(self) -> None:
        """Note the outputs that share memory with an input or an earlier output only in the head."""
        for key, number in (("shared", GIVEN), ("reused", NEW), ("reused", AGAIN)):
            owner = "an input" if key == "shared" else "an earlier output"
            for place in self._of_head_only(number, key):
                self._notes.append(f"output{place} shares memory with {owner} in the head only")

    def _of_head_only(self, number: int, key: str) -> list[str]:
        """Return the places that only the head's answer lists for a call, under the key `key`."""
        base, head = (calls[number][key] for calls in self._calls)
        return [place for place in head if place not in base]

    def _repeats(self, side: int) -> bool:
        """Whether two calls of a side with the same inputs return the same values, apart from rounding."""
        new, again = (self._calls[side][number]["parts"] for number in (NEW, AGAIN))
        for place in new.keys() & again.keys():
            values = (self._fetch(side, number, place) for number in (NEW, AGAIN))
            if is_private(place) or is_close(new[place], again[place], values, self._input_elements):
                continue
            return False
        return True

    def _compare(self, number: int) -> None:
        """Compare all values of one call. Raises _DifferError at the first value that differs."""
        base, head = (calls[number] for calls in self._calls)
        if head["failure"]:
            raise _DifferError(f"{HEAD_RAISES}{head['failure']}, but the base does not")
        unread = {**base["left"], **head["left"]}
        self._notes += [f"output{place}, a {kind}, cannot be compared" for place, kind in unread.items()]
        for place in dict.fromkeys((*base["parts"], *head["parts"])):
            base_part, head_part = base["parts"].get(place), head["parts"].get(place)
            if place.endswith(" by the output") and not base["differentiable"]:
                continue
            if base_part == head_part:
                self._compared += 1
            elif base_part is None or head_part is None:
                lacking = _BASE if base_part is None else _HEAD
                if not self._may_lack(lacking, number, place):
                    raise _DifferError(self._one_sided(number, place, 1 - lacking))
            elif harmless := _harmless(place):
                self._notes.append(harmless)
            elif base_part[:2] != head_part[:2]:
                base_type, head_type = (_type_and_shape(*part[:2]) for part in (base_part, head_part))
                raise _DifferError(f"{place} is {head_type} instead of {base_type}")
            else:
                self._compare_values(number, place, base_part[0])

    def _may_lack(self, side: int, number: int, place: str) -> bool:
        """Tell whether it is harmless that a side lacks a value that the other side has."""
        call = self._calls[side][number]
        if harmless := _harmless(place, is_new=side == _BASE or place.endswith(" after the calls")):
            self._notes.append(harmless)
            return True
        if place.startswith("output"):
            return side == _BASE and any(place.startswith(f"output{path}") for path in call["left"])
        input_place = input_of(place)  # a side may lack the input, or have freed the graph of its gradient
        if input_place in self._inputs[1 - side] and input_place not in self._inputs[side]:
            self._lacking += [f"base has {input_place}"] if side == _HEAD else []
            return True
        return place.endswith(" by the output") and not call["differentiable"]

    def _one_sided(self, number: int, place: str, side: int) -> str:
        """Return the message that only `side` has a value, or that the head has another type there."""
        if place.endswith("after the call"):
            return f"the {SIDES[side]} changes {input_of(place)}, but the {SIDES[1 - side]} does not"
        head = self._calls[_HEAD][number]
        if side == _BASE and f"{place} type" in head["parts"]:
            return f"{place} is a {self._fetch(_HEAD, number, f'{place} type')} in the head only"
        for unread, kind in head["left"].items() if side == _BASE else ():
            if place.startswith(f"output{unread}"):
                return f"output{unread} is a {kind} in the head only"
        return f"only the {SIDES[side]} has {place}"

    def _compare_values(self, number: int, place: str, kind: str) -> None:
        """Compare unequal values: they may differ where slightly changed inputs also change the base's."""
        base, head = (self._fetch(side, number, place) for side in (_BASE, _HEAD))
        if kind != TEXT and digits(kind):
            self._worst = max(self._worst, self._compare_floats(number, place, kind, base, head))
            self._compared += 1
            return
        moved_values = [value for _, _, value in self._moved(number, place)]
        if kind == TEXT:
            may_differ = any(value != base for value in moved_values)
            start = max(len(commonprefix([base, head])) - _SHOWN // 2, 0)  # noqa: RUF071 - texts are no paths
            base_text, head_text = (f"{'...' * bool(start)}{text[start:][:_SHOWN]}" for text in (base, head))
            difference = f"{place} is {head_text} instead of {base_text}"
        else:
            keep_shape = all(value.shape == base.shape for value in moved_values)
            changes = (value != base for value in moved_values) if keep_shape else [np.ones(base.shape, bool)]
            is_moved = np.logical_or.reduce([np.zeros(base.shape, bool), *changes])
            may_differ = bool(np.all(is_moved | (base == head)))
            self._compared += bool(np.any(~is_moved))
            steady_head = np.asarray(np.where(is_moved, base, head))
            difference = _difference(place, compare(base, steady_head, kind))
        if not may_differ:
            raise _DifferError(self._explanation(number, place) or difference)
        self._notes.append(f"{place} changes when the inputs change by units in the last place")

    def _compare_floats(self, number: int, place: str, kind: str, base: Values, head: Values) -> float:
        """Return the largest error of floating-point numbers that are close, or raise _DifferError."""
        moved_values: list[tuple[Values, int]] = []
        is_gradient = place.startswith("gradient of ")
        closeness = partial(compare, base, head, kind, inputs=self._input_elements, is_gradient=is_gradient)
        for call, units_in_place, value in self._moved(number, place):
            if value.shape == base.shape:
                moved_values.append((value, units_in_place))
            result = closeness(others=moved_values)
            if result.is_close and call != AGAIN:
                return result.error
        result = closeness(others=moved_values)
        errors = [side.get("reference_error") for side in self._sides]
        raise _DifferError(self._explanation(number, place) or _difference(place, result, errors))

    def _moved(self, number: int, place: str) -> Iterator[tuple[int, int, Values]]:
        """Yield the number, the move (in ULP) and the value of each call of the base with moved inputs."""
        moved = MOVED[GIVEN] if number == GIVEN else {AGAIN: 1, **MOVED[NEW]}
        for call, units_in_place in moved.items():
            if (value := self._fetch(_BASE, call, place)) is not None:
                yield call, units_in_place, value

    def _explanation(self, number: int, place: str) -> str:
        """Return how a cache explains a wrong output for new input values; empty if no cache explains it."""
        if number == GIVEN:
            return ""
        base_given, head_given = (calls[GIVEN]["parts"].get(place) for calls in self._calls)
        if head_given == self._calls[_HEAD][NEW]["parts"][place]:
            return f"for new inputs, {place} is still that of an earlier call with other inputs"
        if head_given != base_given:  # they differ by no more than rounding
            return ""
        return f"{place} is right only for the benchmark's own inputs"


def is_close(first: Part, second: Part, values: Iterator[Values], input_elements: int) -> bool:
    """Whether two parts are equal, or are numbers that differ by no more than rounding can explain.

    `values`: yields the values of both parts; they are fetched only if the hashes differ.
    """
    kind = first[0]
    if first == second or first[:2] != second[:2] or kind == TEXT or not digits(kind):
        return first == second
    left, right = values
    return compare(left, right, kind, inputs=input_elements).is_close


def _harmless(place: str, *, is_new: bool = False) -> str:
    """Return a note on a value whose difference is harmless; empty if the difference matters."""
    container, _, what = place.rpartition(" ")
    if what in _HARMLESS:
        return f"the {_HARMLESS[what]} of {container} differs"
    return f"{place} differs" if is_private(place) or (is_new and _ATTRIBUTE.search(place)) else ""


def _difference(place: str, closeness: Closeness, errors: Sequence[Any] = (None,)) -> str:
    """Return the message on numbers that differ; `errors` are those of both sides against a reference."""
    index = str(list(closeness.place)) if closeness.place else ""
    base, head = closeness.base, closeness.head
    number = f"{place}{index} is {head} instead of {base}"
    if np.asarray(base).dtype.kind in "fc" and f"{head:.6g}" != f"{base:.6g}":
        number = f"{place}{index} is {head:.6g} instead of {base:.6g}"
    if closeness.relative < _SMALL and closeness.share > _MANY and not math.isinf(closeness.error):
        amount = f"relative error {abs(head - base) / max(abs(head), abs(base)):.1e}"
        if None in errors or max(errors) <= _CLEARLY * min(errors):
            return f"{amount}: {number}"
        return f"{'less' if errors[_HEAD] > errors[_BASE] else 'more'} precise, {amount}: {number}"
    return f"{number}; {100 * closeness.share:.3g}% of its numbers differ"
