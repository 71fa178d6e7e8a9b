"""Compares what both sides of a pair return for the same inputs."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..ground import units
from ..judge.closeness import Closeness, as_in_base, compare, digits, input_of
from ..judge.comparison import Agreement, not_compared
from ..measure.returned.calls import AGAIN, COPIED, GIVEN, MOVED, NEW
from ..measure.returned.effects import LEAST_KEPT_BYTES
from ..measure.returned.portable import TEXT
from .unsteady import Fetch, Unsteady, Values
from .variants.child import SIDES

_BASE, _HEAD = range(2)
_SMALL = 2.0**-6
"""A larger error, relative to the largest value, is none of precision."""
_MANY = 0.25
"""Fraction of the numbers that less precision changes at least."""
_CLEARLY = 2.0
"""The less precise side is farther from the reference than so many times the other."""
HEAD_RAISES = "the head raises "
"""Beginning of a reason."""
_INPUTS = "the inputs differ: "
_NOTHING = "the call returns nothing and changes no argument"
_OTHERS = "the sides get different inputs: only the {}"
_UNSTEADY = "two calls of the base differ: random numbers, a state that it keeps, or a changing order"
_VALUES = "other values: random without a seed, or set by the time, a file or an earlier benchmark"
_REPEATS_NOT = "two calls of the head differ, and those of the base do not"
_REPEATED = "for the inputs of an earlier call the head executes less code, and the base does not"
_TOO_LONG = "compared for fewer new values: with others a call takes more than 20 times as long"
_TIE = "{} changes when the inputs move by units in the last place"
_KEEPS = "the head keeps {} more with each call"
_ATTRIBUTE = re.compile(r"^output.*\.\w+$| after the calls$")
_PRIVATE = "._"
"""In the place of an attribute whose name begins with an underscore: it may differ without harm."""


class _DifferError(Exception):
    """The results differ; the message says how."""


_STEADY = Unsteady()


def depends_on_process(found: Agreement) -> bool:
    """Tell whether results may look different because they were computed in two processes."""
    return found.is_other or found.reason == _UNSTEADY or found.reason.startswith(_INPUTS)


def agreement(
    base: Mapping[str, Any], head: Mapping[str, Any], fetch: Fetch, unsteady: Unsteady = _STEADY
) -> Agreement:
    """Compare results."""
    for side, answer in zip(SIDES, (base, head), strict=True):
        if answer["answer"] != "returned":
            return not_compared(answer["reason"])
        if side == "base" and (failure := answer["calls"][GIVEN]["failure"]):
            return not_compared(f"base: a further call raises {failure}")
    if unsteady.failure:
        return not_compared(unsteady.failure)
    head, names = as_in_base(base, head)
    base, head = map(unsteady.left_out, (base, head))
    if reason := _other_inputs(base["inputs"], head["inputs"]):
        return not_compared(reason)

    def fetch_renamed(side: int, number: int, place: str) -> Values:
        return fetch(side, number, names.get(place, place) if side == _HEAD else place)

    return _Comparing((base, head), fetch_renamed, unsteady.note).agreement()


def head_refuses(base: Mapping[str, Any], head: Mapping[str, Any]) -> bool:
    """Tell whether the head raises something for new values that the base takes."""
    return bool(head.get("refused")) and not head["is_too_long"] and head["level"] < base.get("level", 0)


def _other_inputs(base: Mapping[str, Any], head: Mapping[str, Any]) -> str:
    """Return how the inputs of both sides differ. Returns "" if they do not, as far as both have them."""
    for place in base.keys() & head.keys():
        (kind, shape, content), (head_kind, head_shape, head_content) = base[place], head[place]
        if (kind, shape) != (head_kind, head_shape):
            there, here = _typed(kind, shape), _typed(head_kind, head_shape)
            return f"{_INPUTS}{place} is {here} in the head and {there} in the base"
        if content != head_content:
            return f"{_INPUTS}{place} has {_VALUES}"
    return ""


def _typed(kind: str, shape: Sequence[int]) -> str:
    return f"{kind} {list(shape)}" if shape else kind


class _Comparing:
    def __init__(self, sides: tuple[Mapping[str, Any], Mapping[str, Any]], fetch: Fetch, note: str) -> None:
        self._sides, self._fetch = sides, fetch
        self._inputs, self._calls = ([side[name] for side in sides] for name in ("inputs", "calls"))
        self._elements = sides[_BASE]["elements"]
        self._writable = [set(side["writable"]) for side in sides]
        self._get_the_same = self._writable[_BASE] == self._writable[_HEAD]
        """Whether the same inputs of both sides get new values."""
        self._reservations = [note] if note else []
        """What could not be compared."""
        self._lacking: list[str] = []
        """Inputs that only one side has, and whose parts the base has."""
        self._compared = 0
        self._worst = 0.0

    def agreement(self) -> Agreement:
        if not self._repeats(_BASE):
            return not_compared(_UNSTEADY)
        try:
            self._compare_all()
        except _DifferError as error:
            return Agreement("differ", str(error))
        repeated = self._get_the_same and self._sides[_HEAD]["kept"] and not self._sides[_BASE]["kept"]
        if self._lacking:
            return not_compared(_OTHERS.format(self._lacking[0]))
        reservation = "; ".join(dict.fromkeys(self._reservations))
        if not self._compared:
            return not_compared(reservation or _NOTHING)
        too_long = any(side["is_too_long"] for side in self._sides)
        reason, worst = _REPEATED if repeated else _TOO_LONG * too_long, self._worst or None
        return Agreement(
            "close" if worst else "equal", reason, worst, only_repeated=repeated, reservation=reservation
        )

    def _compare_all(self) -> None:
        base, head = self._sides
        self._compare(GIVEN)
        self._compare_shared()
        if head_refuses(base, head):
            raise _DifferError(f"{HEAD_RAISES}{head['refused']} for new values, the base does not")
        if self._get_the_same:
            if self._writable[_BASE]:
                self._compare(NEW)
                if all(calls[COPIED]["parts"] for calls in self._calls):
                    self._compare(COPIED)
            self._compare_overwritten()
        for side, other in ((_BASE, _HEAD), (_HEAD, _BASE)):
            only = sorted(self._writable[side] - self._writable[other])
            self._lacking += [f"{SIDES[side]} has {place}" for place in only]
        if not self._repeats(_HEAD):
            raise _DifferError(_REPEATS_NOT)
        kept = head["kept_bytes"] - base["kept_bytes"]
        if kept > LEAST_KEPT_BYTES:
            raise _DifferError(_KEEPS.format(units.size(kept)))

    def _compare_shared(self) -> None:
        for what, number in (("shared", GIVEN), ("reused", NEW), ("reused", AGAIN)):
            other = "an input" if what == "shared" else "an earlier output"
            for place in self._of_head_only(number, what):
                self._reservations.append(
                    f"output{place} shares memory with {other}, and that of the base does not"
                )

    def _of_head_only(self, number: int, what: str) -> list[str]:
        base, head = (calls[number][what] for calls in self._calls)
        return [place for place in head if place not in base]

    def _compare_overwritten(self) -> None:
        for number, which in ((NEW, "the next"), (AGAIN, "a later")):
            for place in self._of_head_only(number, "overwritten"):
                raise _DifferError(f"{which} call of the head changes output{place} of an earlier call")

    def _repeats(self, side: int) -> bool:
        """Whether a side returns the same for the same inputs, but for rounding."""
        new, again = (self._calls[side][number]["parts"] for number in (NEW, AGAIN))
        for place in new.keys() & again.keys():
            if new[place] == again[place] or _PRIVATE in place:
                continue
            kind = new[place][0]
            if new[place][:2] != again[place][:2] or kind == TEXT or not digits(kind):
                return False
            first, second = (self._fetch(side, number, place) for number in (NEW, AGAIN))
            if not compare(first, second, kind, inputs=self._elements).is_close:
                return False
        return True

    def _compare(self, number: int) -> None:
        base, head = (calls[number] for calls in self._calls)
        if head["failure"]:
            raise _DifferError(f"{HEAD_RAISES}{head['failure']}, the base does not")
        left = {**base["left"], **head["left"]}
        self._reservations += [f"output{place} is a {kind}" for place, kind in left.items()]
        for place in dict.fromkeys((*base["parts"], *head["parts"])):
            there, here = base["parts"].get(place), head["parts"].get(place)
            if place.endswith(" by the output") and not base["differentiable"]:
                continue
            if there == here:
                self._compared += 1
            elif there is None or here is None:
                lacking = _BASE if there is None else _HEAD
                if not self._may_lack(lacking, number, place):
                    raise _DifferError(self._only(number, place, 1 - lacking))
            elif harmless := _harmless(place):
                self._reservations.append(harmless)
            elif there[:2] != here[:2]:
                raise _DifferError(f"{place} is {_typed(*here[:2])} instead of {_typed(*there[:2])}")
            else:
                self._compare_part(number, place, there[0])

    def _may_lack(self, side: int, number: int, part: str) -> bool:
        """Tell whether a side lacks a part for a reason: it has no such input, or ran backward itself.

        Of an output, what the base has cannot be read where it has a type that cannot be compared.
        """
        call = self._calls[side][number]
        if harmless := _harmless(part, is_new=side == _BASE or part.endswith(" after the calls")):
            self._reservations.append(harmless)
            return True
        if part.startswith("output"):
            return side == _BASE and any(part.startswith(f"output{path}") for path in call["left"])
        place = input_of(part)
        if place in self._inputs[1 - side] and place not in self._inputs[side]:
            self._lacking += [f"base has {place}"] if side == _HEAD else []
            return True
        return part.endswith(" by the output") and not call["differentiable"]

    def _only(self, number: int, part: str, side: int) -> str:
        """Say that only one side has a part; the head may have something else there."""
        if part.endswith("after the call"):
            return f"the {SIDES[side]} changes {input_of(part)}, and the {SIDES[1 - side]} does not"
        head = self._calls[_HEAD][number]
        if side == _BASE and f"{part} type" in head["parts"]:
            return f"{part} is a {self._fetch(_HEAD, number, f'{part} type')} in the head"
        for place, kind in head["left"].items() if side == _BASE else ():
            if part.startswith(f"output{place}"):
                return f"output{place} is a {kind} in the head"
        return f"only the {SIDES[side]} has {part}"

    def _compare_part(self, number: int, place: str, kind: str) -> None:
        """Compare a part that is not equal, bit by bit, with what moved inputs change in the base's."""
        base, head = (self._fetch(side, number, place) for side in (_BASE, _HEAD))
        if kind != TEXT and digits(kind):
            self._worst = max(self._worst, self._compare_real(number, place, kind, base, head))
            self._compared += 1
            return
        others = [other for _, _, other in self._moved(number, place)]
        if kind == TEXT:
            is_tie, how = any(other != base for other in others), f"{place} is {head} instead of {base}"
        else:
            is_steady = all(other.shape == base.shape for other in others)
            changes = (other != base for other in others) if is_steady else [np.ones(base.shape, bool)]
            moves = np.logical_or.reduce([np.zeros(base.shape, bool), *changes])
            is_tie = bool(np.all(moves | (base == head)))
            self._compared += bool(np.any(~moves))
            how = _how(place, compare(base, np.asarray(np.where(moves, base, head)), kind))
        if not is_tie:
            raise _DifferError(self._known(number, place) or how)
        self._reservations.append(_TIE.format(place))

    def _compare_real(self, number: int, place: str, kind: str, base: Values, head: Values) -> float:
        """Return the largest error in floating-point numbers that are close, see `Closeness`."""
        others: list[tuple[Values, int]] = []
        is_gradient = place.startswith("gradient of ")
        closeness = partial(compare, base, head, kind, inputs=self._elements, is_gradient=is_gradient)
        for call, units_in_place, other in self._moved(number, place):
            if other.shape == base.shape:
                others.append((other, units_in_place))
            result = closeness(others=others)
            if result.is_close and call != AGAIN:
                return result.error
        result = closeness(others=others)
        errors = [side.get("reference_error") for side in self._sides]
        raise _DifferError(self._known(number, place) or _how(place, result, errors))

    def _moved(self, number: int, place: str) -> Iterator[tuple[int, int, Values]]:
        """Yield calls of the base with inputs that moved: the call, by how many units, and the part."""
        moved = MOVED[GIVEN] if number == GIVEN else {AGAIN: 1, **MOVED[NEW]}
        for call, units_in_place in moved.items():
            if (other := self._fetch(_BASE, call, place)) is not None:
                yield call, units_in_place, other

    def _known(self, number: int, place: str) -> str:
        """Return what explains a different output for new values. Returns "" if nothing does."""
        if number == GIVEN:
            return ""
        given, other = (calls[GIVEN]["parts"].get(place) for calls in self._calls)
        if other == self._calls[_HEAD][NEW]["parts"][place]:
            return f"for new inputs, {place} is the result of an earlier call with others"
        if other != given:  # by less than rounding may change
            return ""
        return f"{place} is right only for the values that the benchmark uses"


def _harmless(part: str, *, is_new: bool = False) -> str:
    """Return what is noted of a part that may differ without harm. Returns "" if it may not."""
    place, _, what = part.rpartition(" ")
    if what in ("type", "order"):
        return f"the {what if what == 'type' else 'order of the keys'} of {place} differs"
    return f"{part} differs" if _PRIVATE in part or (is_new and _ATTRIBUTE.search(part)) else ""


def _how(place: str, closeness: Closeness, errors: Sequence[Any] = (None,)) -> str:
    """Say how numbers differ; `errors` are those of both sides from a reference, None if it is unknown."""
    index = str(list(closeness.place)) if closeness.place else ""
    here, there = closeness.head, closeness.base
    if np.asarray(there).dtype.kind in "fc" and f"{here:.6g}" != f"{there:.6g}":
        here, there = f"{here:.6g}", f"{there:.6g}"
    error = f"{place}{index} is {here} instead of {there}"
    if closeness.relative < _SMALL and closeness.share > _MANY and not math.isinf(closeness.error):
        base, head = closeness.base, closeness.head
        amount = f"relative error {abs(head - base) / max(abs(head), abs(base)):.1e}"
        if None in errors or max(errors) <= _CLEARLY * min(errors):
            return f"{amount}: {error}"
        return f"{'less' if errors[_HEAD] > errors[_BASE] else 'more'} precise, {amount}: {error}"
    return f"{error}; {100 * closeness.share:.3g}% of its numbers differ"
