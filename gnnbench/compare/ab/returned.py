"""Compares what both sides of a pair return for the same inputs."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...measure.returned.calls import AGAIN, GIVEN, GIVEN_MOVED, NEW, NEW_MOVED
from ...measure.returned.portable import TEXT
from ..agreement import Agreement, not_compared
from ..closeness import Closeness, compare, digits

Values = Any
"""A NumPy array, a text, or None."""
Fetch = Callable[[int, Sequence[tuple[int, str]]], list[Values]]
"""Returns parts of calls, given the number of the side, and of each part the number of the call and the
place; None: the call has no such part."""

_BASE, _HEAD = range(2)
_SIDES = ("base", "head")
_MOVED = {GIVEN: GIVEN_MOVED, NEW: NEW_MOVED}
_SMALL = 2.0**-6
"""A larger error, relative to the largest value, is none of precision."""
_MANY = 0.25
"""Fraction of the numbers that less precision changes at least."""
_NOTHING = "it returns nothing, and changes nothing that it gets"
_UNSTEADY = "the base does not repeat itself: random numbers, a state that it keeps, or a changing order"
_VALUES = "other values: unseeded random numbers, the time, a file, or a benchmark before has changed it"
_REPEATED = "for inputs that it has seen the head runs fewer lines of Python, and the base does not"
_TIE = "{} changes when the inputs move by one unit in the last place"


class _DifferError(Exception):
    """The results differ; the message says how."""


def agreement(base: Mapping[str, Any], head: Mapping[str, Any], fetch: Fetch) -> Agreement:
    """Compare results.

    Args:
        base: what the base's worker answered to `return`.
        head: what the head's answered.
        fetch: gets parts from the workers.
    """
    for side, one in zip(_SIDES, (base, head), strict=True):
        if one["answer"] != "returned":
            return not_compared(one["reason"])
        if side == "base" and (failure := one["calls"][GIVEN]["failure"]):
            return not_compared(f"base: a further call raises {failure}")
    if reason := _other_inputs(base["inputs"], head["inputs"]):
        return not_compared(reason)
    return _Comparing((base, head), fetch).agreement()


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
        self._calls = [one["calls"] for one in sides]
        self._elements, self._fetch = sides[_BASE]["elements"], fetch
        self._refused = [one["refused"] for one in sides]
        self._have_new = all(one["writable"] for one in sides)
        self._left: list[str] = []
        """What could not be compared."""
        self._compared = 0
        self._worst: Closeness | None = None

    def agreement(self) -> Agreement:
        if not self._repeats(_BASE):
            return not_compared(_UNSTEADY)
        try:
            self._compare_all()
        except _DifferError as error:
            return Agreement("differ", str(error))
        repeated = self._have_new and self._does_less(_HEAD) and not self._does_less(_BASE)
        if not self._compared:
            left = "; ".join(dict.fromkeys(self._left))
            return not_compared(left or _NOTHING)
        worst = None if self._worst is None else self._worst.error
        reason = _REPEATED if repeated else ""
        return Agreement("close" if worst else "equal", reason, worst, only_repeated=repeated)

    def _compare_all(self) -> None:
        self._compare(GIVEN)
        if self._have_new:
            self._compare(NEW)
        elif self._refused[_HEAD] and not self._refused[_BASE]:
            raise _DifferError(f"the head raises {self._refused[_HEAD]} for new values, the base does not")
        if not self._repeats(_HEAD):
            raise _DifferError(self._how_not_repeated())

    def _does_less(self, side: int) -> bool:
        """Whether a call executes fewer lines of Python for inputs that it has seen."""
        given, new, again = (self._calls[side][number]["lines"] for number in (GIVEN, NEW, AGAIN))
        return None not in (given, new, again) and again < new and again <= given

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
            if there is None or here is None:
                raise _DifferError(_only(place, "head" if there is None else "base"))
            if there == here:
                self._compared += there[0] != TEXT or place != "output" or there != _none()
                continue
            if there[:2] != here[:2]:
                raise _DifferError(f"{place} is {_typed(*here[:2])} instead of {_typed(*there[:2])}")
            self._compare_part(number, place, there[0])

    def _compare_part(self, number: int, place: str, kind: str) -> None:
        wanted = [(number, place), (_MOVED[number], place), *([(AGAIN, place)] if number == NEW else [])]
        base, moved, *again = self._fetch(_BASE, wanted)
        (head,) = self._fetch(_HEAD, [(number, place)])
        if kind == TEXT or not digits(kind):
            if moved is not None and not _same(base, moved):
                self._left.append(_TIE.format(place))
                return
            how = f"{place} is {head} instead of {base}"
            if kind != TEXT:
                how = _how(place, compare(base, head, kind))
            raise _DifferError(self._known(number, place) or how)
        others = tuple(one for one in (moved, *again) if one is not None and one.shape == base.shape)
        found = compare(base, head, kind, others=others, inputs=self._elements)
        if not found.is_close:
            raise _DifferError(self._known(number, place) or _how(place, found))
        self._compared += 1
        if found.error and (self._worst is None or found.error > self._worst.error):
            self._worst = found

    def _known(self, number: int, place: str) -> str:
        """Return what explains that a call with new values has another result; empty: nothing does."""
        if number == GIVEN:
            return ""
        if self._calls[_HEAD][GIVEN]["parts"].get(place) == self._calls[_HEAD][NEW]["parts"][place]:
            return f"for new inputs, {place} is the result of an earlier call with others"
        return f"{place} is right only for the values that the benchmark uses"


def _none() -> list[Any]:
    """Return the signature of an output that is None."""
    from ...measure.returned.portable import Portable

    return [*map(_listed, Portable(TEXT, repr(None)).signature)]


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _same(left: Values, right: Values) -> bool:
    if isinstance(left, str) or isinstance(right, str):
        return bool(left == right)
    return left.shape == right.shape and bool((left == right).all())


def _only(place: str, side: str) -> str:
    if place.endswith("after the call"):
        changed = place.removesuffix(" after the call")
        other = _SIDES[1 - _SIDES.index(side)]
        return f"the {side} changes {changed}, and the {other} does not"
    return f"only the {side} has {place}"


def _how(place: str, found: Closeness) -> str:
    """Say how numbers differ."""
    index = str(list(found.place)) if found.place else ""
    error = f"{place}{index} is {found.head:.6g} instead of {found.base:.6g}"
    if found.relative < _SMALL and found.share > _MANY and not math.isinf(found.error):
        return f"less precise by 2^{max(round(math.log2(found.error)), 1)}: {error}"
    return f"{error}; {found.share:.2g} of its numbers differ"
