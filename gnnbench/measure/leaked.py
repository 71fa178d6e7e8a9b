"""The Python objects that calls leave behind: how many of which type, their size, and what holds them."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import containers, live
from .holders import holder

UNTRACKED = "blocks of untracked objects (numbers, texts, arrays, plain dicts)"
"""Stands for the types of objects that Python's garbage collector does not track, and so cannot list."""
_NAMED = 4
"""Types whose holders are looked for: each takes some hundredths of a second."""


@dataclass(frozen=True)
class Leaked:
    """Objects of one type."""

    type: str
    """Its full name, or UNTRACKED."""
    count: int
    bytes: int
    """Their own size, without what they refer to."""
    held_by: str | None
    """None: not looked for."""


def tracked(counts: Mapping[str, int], fresh: list[Any]) -> tuple[Leaked, ...]:
    """Return sizes and holders of objects, those with the largest number first.

    Args:
        counts: how many objects are left behind, by the full name of their type.
        fresh: all new objects, the oldest first.
    """
    places: dict[str, list[int]] = {name: [] for name in counts}
    for place, one in enumerate(fresh):
        if (name := live.name_of(type(one))) in places:
            places[name].append(place)
    found = []
    for number, (name, count) in enumerate(sorted(counts.items(), key=lambda item: (-item[1], item[0]))):
        there = places[name]
        size = count * sum(_size(fresh[place]) for place in there) // len(there)
        # Not one of the last, which the last call made and the next may free.
        held_by = holder(fresh[there[len(there) // 2]], fresh) if number < _NAMED else None
        found.append(Leaked(name, count, size, held_by))
    return tuple(found)


def untracked(count: int, container: Any) -> Leaked:
    """Return size and holder of objects that the garbage collector does not track.

    Args:
        count: how many are left behind.
        container: what has got most items.
    """
    sizes = [_size(one) for one in containers.newest(container, count)]
    return Leaked(UNTRACKED, count, count * sum(sizes) // len(sizes), holder(container, [container]))


def _size(one: Any) -> int:
    try:
        return sys.getsizeof(one)
    except Exception:  # noqa: BLE001 - its class may define it
        return 0
