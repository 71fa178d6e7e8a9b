"""Compares what both sides of a pair return for the same inputs."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...measure.returned.calls import AGAIN, GIVEN, MOVED, NEW
from ...measure.returned.portable import TEXT
from ...variants.child import SIDES
from ..closeness import Closeness, compare, digits
from ..comparison import Agreement, not_compared
from .renamed import as_in_base, input_of

Values = Any
"""A NumPy array, a text, or None."""
Fetch = Callable[[int, Sequence[tuple[int, str]]], list[Values]]
"""Returns parts of calls, given the number of the side, and of each part the number of the call and the
place; None: the call has no such part."""

_BASE, _HEAD = range(2)
_SMALL = 2.0**-6
"""A larger error, relative to the largest value, is none of precision."""
_MANY = 0.25
"""Fraction of the numbers that less precision changes at least."""
_NOTHING = "it returns nothing, and changes nothing that it gets"
_OTHERS = "the sides have other inputs: only the {}"
_UNSTEADY = "the base does not repeat itself: random numbers, a state that it keeps, or a changing order"
_VALUES = "other values: unseeded random numbers, the time, a file, or a benchmark before has changed it"
_REPEATED = "for inputs that it has seen the head runs fewer lines of Python, and the base does not"
_TIE = "{} changes when the inputs move by units in the last place"


class _DifferError(Exception):
    """The results differ; the message says how."""


def agreement(base: Mapping[str, Any], head: Mapping[str, Any], fetch: Fetch) -> Agreement:
    """Compare results.

    Args:
        base: what the base's worker answered to `return`.
        head: what the head's answered.
        fetch: gets parts from the workers.
    """
    for side, one in zip(SIDES, (base, head), strict=True):
        if one["answer"] != "returned":
            return not_compared(one["reason"])
        if side == "base" and (failure := one["calls"][GIVEN]["failure"]):
            return not_compared(f"base: a further call raises {failure}")
    if reason := _other_inputs(base["inputs"], head["inputs"]):
        return not_compared(reason)
    head, names = as_in_base(base, head)

    def fetch_renamed(side: int, wanted: Sequence[tuple[int, str]]) -> list[Values]:
        own = names if side == _HEAD else {}
        return fetch(side, [(number, own.get(part, part)) for number, part in wanted])

    return _Comparing((base, head), fetch_renamed).agreement()


def _other_inputs(base: Mapping[str, Any], head: Mapping[str, Any]) -> str:
    """Return how the inputs of both sides differ; empty: they do not, as far as both have them."""
    for place in base.keys() & head.keys():
        (kind, shape, content), (own_kind, own_shape, own_content) = base[place], head[place]
        if (kind, shape) != (own_kind, own_shape):
            there, here = _typed(kind, shape), _typed(own_kind, own_shape)
            return f"the inputs differ: {place} is {here} in the head and {there} in the base"
        if content != own_content:
            return f"the inputs differ: {place} has {_VALUES}"
    return ""


def _typed(kind: str, shape: Sequence[int]) -> str:
    return f"{kind} {list(shape)}" if shape else kind


class _Comparing:
    """The comparison of one benchmark."""

    def __init__(self, sides: tuple[Mapping[str, Any], Mapping[str, Any]], fetch: Fetch) -> None:
        self._inputs, self._calls, self._kept, self._refused = (
            [one[name] for one in sides] for name in ("inputs", "calls", "kept", "refused")
        )
        self._elements, self._fetch = sides[_BASE]["elements"], fetch
        self._writable = [set(one["writable"]) for one in sides]
        self._get_the_same = self._writable[_BASE] == self._writable[_HEAD]
        """Whether the same inputs of both sides get new values."""
        self._have_new = self._get_the_same and bool(self._writable[_BASE])
        self._left: list[str] = []
        """What could not be compared."""
        self._others: list[str] = []
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
        repeated = self._get_the_same and self._kept[_HEAD] and not self._kept[_BASE]
        if self._others:
            return not_compared(_OTHERS.format(self._others[0]))
        if not self._compared:
            left = "; ".join(dict.fromkeys(self._left))
            return not_compared(left or _NOTHING)
        reason, worst = _REPEATED if repeated else "", self._worst or None
        return Agreement("close" if worst else "equal", reason, worst, only_repeated=repeated)

    def _compare_all(self) -> None:
        self._compare(GIVEN)
        if self._have_new:
            self._compare(NEW)
        elif self._refused[_HEAD] and not self._refused[_BASE]:
            raise _DifferError(f"the head raises {self._refused[_HEAD]} for new values, the base does not")
        elif not any(self._refused):
            for side, other in ((_BASE, _HEAD), (_HEAD, _BASE)):
                only = sorted(self._writable[side] - self._writable[other])
                self._others += [f"{SIDES[side]} has {place}" for place in only]
        if not self._repeats(_HEAD):
            raise _DifferError(self._how_not_repeated())

    def _repeats(self, side: int) -> bool:
        """Whether a side returns the same for the same inputs, but for rounding."""
        new, again = (self._calls[side][number]["parts"] for number in (NEW, AGAIN))
        for place in new.keys() & again.keys():
            if new[place] == again[place]:
                continue
            kind = new[place][0]
            if new[place][:2] != again[place][:2] or kind == TEXT or not digits(kind):
                return False
            first, second = self._fetch(side, [(NEW, place), (AGAIN, place)])
            if not compare(first, second, kind, inputs=self._elements).is_close:
                return False
        return True

    def _how_not_repeated(self) -> str:
        given, again = (self._calls[_HEAD][number]["parts"] for number in (GIVEN, AGAIN))
        if self._have_new and any(given[place] == again[place] for place in given.keys() & again.keys()):
            return "the head computes its result only when it is looked at, from what its inputs are then"
        return "the head does not repeat itself, and the base does"

    def _compare(self, number: int) -> None:
        """Compare the parts of a call.

        Raises:
            _DifferError: they differ.
        """
        base, head = (calls[number] for calls in self._calls)
        if head["failure"]:
            raise _DifferError(f"the head raises {head['failure']}, the base does not")
        left = {**base["left"], **head["left"]}
        self._left += [f"output{place} is a {kind}" for place, kind in left.items()]
        for place in dict.fromkeys((*base["parts"], *head["parts"])):
            there, here = base["parts"].get(place), head["parts"].get(place)
            if place.endswith(" by the output") and not base["differentiable"]:
                continue
            if there is None or here is None:
                lacking = _BASE if there is None else _HEAD
                if self._may_lack(lacking, number, place):
                    continue
                raise _DifferError(_only(place, 1 - lacking, head["left"] if lacking == _HEAD else {}))
            if there == here:
                self._compared += 1
                continue
            if there[:2] != here[:2]:
                raise _DifferError(f"{place} is {_typed(*here[:2])} instead of {_typed(*there[:2])}")
            self._compare_part(number, place, there[0])

    def _may_lack(self, side: int, number: int, part: str) -> bool:
        """Tell whether a side lacks a part for a reason: it has no such input, or ran backward itself.

        Of an output, what the base has cannot be read where it has a type that cannot be compared.
        """
        call = self._calls[side][number]
        if part.startswith("output"):
            return side == _BASE and any(part.startswith(f"output{one}") for one in call["left"])
        if (place := input_of(part)) not in self._inputs[side]:
            self._others += [f"base has {place}"] if side == _HEAD else []
            return True
        return part.endswith(" by the output") and not call["differentiable"]

    def _compare_part(self, number: int, place: str, kind: str) -> None:
        (base,), (head,) = (self._fetch(side, [(number, place)]) for side in (_BASE, _HEAD))
        is_exact, how = kind == TEXT or not digits(kind), f"{place} is {head} instead of {base}"
        others: list[tuple[Values, int]] = []
        for call, units in {**({AGAIN: 1} if number == NEW else {}), **MOVED[number]}.items():
            (other,) = self._fetch(_BASE, [(call, place)])
            if other is not None and is_exact and not np.array_equal(base, other):
                self._left.append(_TIE.format(place))
                return
            if kind != TEXT:
                if other is not None and other.shape == base.shape:
                    others.append((other, units))
                found = compare(base, head, kind, others=others, inputs=self._elements)
                how = _how(place, found)
                if found.is_close and call != AGAIN:
                    break
        else:
            raise _DifferError(self._known(number, place) or how)
        self._compared += 1
        self._worst = max(self._worst, found.error)

    def _known(self, number: int, place: str) -> str:
        """Return what explains that a call with new values has another result; empty: nothing does."""
        if number == GIVEN:
            return ""
        given, other = (calls[GIVEN]["parts"].get(place) for calls in self._calls)
        if other == self._calls[_HEAD][NEW]["parts"][place]:
            return f"for new inputs, {place} is the result of an earlier call with others"
        if other != given:  # by less than rounding may change
            return ""
        return f"{place} is right only for the values that the benchmark uses"


def _only(part: str, side: int, left: Mapping[str, str]) -> str:
    """Say that only one side has a part; the head may have a type there that cannot be compared."""
    if part.endswith("after the call"):
        changed = part.removesuffix(" after the call")
        return f"the {SIDES[side]} changes {changed}, and the {SIDES[1 - side]} does not"
    for place, kind in left.items():
        if part.startswith(f"output{place}"):
            return f"output{place} is a {kind} in the head"
    return f"only the {SIDES[side]} has {part}"


def _how(place: str, found: Closeness) -> str:
    """Say how numbers differ."""
    index = str(list(found.place)) if found.place else ""
    here, there = found.head, found.base
    if np.asarray(there).dtype.kind in "fc" and f"{here:.6g}" != f"{there:.6g}":
        here, there = f"{here:.6g}", f"{there:.6g}"
    error = f"{place}{index} is {here} instead of {there}"
    if found.relative < _SMALL and found.share > _MANY and not math.isinf(found.error):
        return f"less precise by 2^{max(round(math.log2(found.error)), 1)}: {error}"
    return f"{error}; {100 * found.share:.3g}% of its numbers differ"
