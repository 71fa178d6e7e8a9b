"""Inputs that the head has at another place than the base, as a parameter of a layer that was renamed."""

import re
from collections.abc import Mapping
from typing import Any

_OF_INPUT = re.compile("(gradient of |)(.*?)( by the output.*| after the call|)", re.DOTALL)


def input_of(part: str) -> str:
    """Return the place of the input that a part of a call's results is of: `gradient of x` is of `x`."""
    return _split(part)[1]


def as_in_base(base: Mapping[str, Any], head: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the head's answer with the base's places of inputs, and its own names of parts by the new ones.

    An input that the base lacks is taken for one that the head lacks if both have the same content.
    """
    free = [place for place in base["inputs"] if place not in head["inputs"]]
    places: dict[str, str] = {}
    for place, content in head["inputs"].items():
        same = (one for one in free if place not in base["inputs"] and base["inputs"][one] == content)
        if (found := next(same, None)) is not None:
            free.remove(found)
            places[place] = found

    def renamed(part: str) -> str:
        before, place, after = _split(part)
        return f"{before}{places.get(place, place)}{after}"

    answer = {
        **head,
        "inputs": {renamed(place): content for place, content in head["inputs"].items()},
        "writable": [renamed(place) for place in head["writable"]],
        "calls": [
            {**call, "parts": {renamed(part): one for part, one in call["parts"].items()}}
            for call in head["calls"]
        ],
    }
    return answer, {renamed(part): part for call in head["calls"] for part in call["parts"]}


def _split(part: str) -> tuple[str, str, str]:
    found = _OF_INPUT.fullmatch(part)
    assert found
    return found[1], found[2], found[3]
