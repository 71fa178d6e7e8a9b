"""What a call returns that differs between two processes of the same code: addresses, paths, process ids."""

from bisect import bisect
from collections.abc import Callable, Collection, Mapping, Sequence
from os.path import commonprefix
from typing import Any, NamedTuple

from ..ground.units import listed
from ..judge.closeness import compare, digits
from ..measure.returned.portable import TEXT
from .processes import BASE_AGAIN

Values = Any
"""A NumPy array, a text, or None."""
Fetch = Callable[[int, int, str], Values]
"""Returns a part of a call, given the numbers of the process and the call, and the place. Returns None if the
call has no such part."""

_SHOWN = 3
"""So many places that were left out are named."""


class Unsteady(NamedTuple):
    """What differs between two processes of the base."""

    places: Collection[str] = ()
    """Of inputs and parts that have other values."""
    beginnings: tuple[str, ...] = ()
    """Of the places that only one process has, as for objects that are keys of a dictionary."""
    steady: Collection[str] = ()
    """Places that both have with the same values."""
    failure: str = ""
    """Why it is not known. Empty if it is."""

    def has(self, place: str) -> bool:
        """Tell whether a place is left out of a comparison."""
        return place in self.places or (place.startswith(self.beginnings) and place not in self.steady)

    def left_out(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return an answer to `return` without these places."""
        inputs = {place: part for place, part in answer["inputs"].items() if place not in self.places}
        calls = [
            {**call, "parts": {place: part for place, part in call["parts"].items() if not self.has(place)}}
            for call in answer["calls"]
        ]
        return {**answer, "inputs": inputs, "calls": calls}

    @property
    def note(self) -> str:
        """What is left out. Empty if nothing is."""
        places = sorted({*self.places, *(f"{beginning}..." for beginning in self.beginnings)})
        return (
            f"left out, as two processes of the base differ there: {listed(places, _SHOWN)}" if places else ""
        )


def unsteady_places(base: Mapping[str, Any], again: Mapping[str, Any], fetch: Fetch) -> Unsteady:
    """Return what differs between two processes of the base, but for rounding.

    `base` and `again` are the answers of two workers of the base to `return`. Inputs that are numbers count
    as steady: what is computed from others cannot be compared.
    """
    if again["answer"] != "returned":
        return Unsteady(failure=f"{BASE_AGAIN}: {again['reason']}")
    texts = {place for place, part in base["inputs"].items() if part[0] == TEXT}
    places = {
        place for place in texts & again["inputs"].keys() if base["inputs"][place] != again["inputs"][place]
    }
    beginnings: list[str] = []
    steady: set[str] = set()
    for number, calls in enumerate(zip(base["calls"], again["calls"], strict=False)):
        if failure := calls[1]["failure"]:
            return Unsteady(failure=f"{BASE_AGAIN}: a further call raises {failure}")
        first, second = (call["parts"] for call in calls)
        for place in first.keys() & second.keys():
            kind, is_same = first[place][0], first[place] == second[place]
            if not is_same and first[place][:2] == second[place][:2] and kind != TEXT and digits(kind):
                value, other = (fetch(process, number, place) for process in range(2))
                is_same = compare(value, other, kind, inputs=base["elements"]).is_close
            (steady if is_same else places).add(place)
        only_first, only_second = sorted(first.keys() - second.keys()), sorted(second.keys() - first.keys())
        beginnings += [_beginning(place, only_second) for place in only_first]
        beginnings += [_beginning(place, only_first) for place in only_second]
    return Unsteady(places, tuple(dict.fromkeys(beginnings)), steady)


def _beginning(place: str, others: Sequence[str]) -> str:
    """Return the place of the container in which a name differs, given the sorted names of the others."""
    at = bisect(others, place)
    nearest = others[max(at - 1, 0) : at + 1]
    shared = max((commonprefix([place, other]) for other in nearest), key=len, default=place)  # noqa: RUF071 - names are no paths
    return shared[: (max(map(shared.rfind, "[{")) + 1) or (shared.rfind(".") + 1)] or place
