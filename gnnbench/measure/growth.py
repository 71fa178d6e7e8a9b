"""Does a call leave more behind each time? Compares the state after call 50 with that after call 5.

Objects and tensors are counted exactly. What grows does so between all checkpoints: a cache that is filled
once, or memory that comes and goes, does not. What seems to grow must go on growing in as many further calls.
"""

import gc
import resource
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from . import live
from .live import Snapshot

if TYPE_CHECKING:
    from weakref import ReferenceType

FIRST, STEP, STEPS = 5, 9, 5
CALLS = STEP * STEPS
"""Calls between the two states that are compared."""

RESIDENT_BYTES = 2**20
"""Growth of the resident set that is not noise: allocators ask the system for memory in portions."""
SLOWER = 1.5
"""Growth of the time that is not noise."""


@dataclass(frozen=True)
class Leaked:
    """Objects of one type that calls leave behind."""

    type: str
    """Its full name."""
    count: int
    bytes: int
    """Their own size, without what they refer to."""


@dataclass(frozen=True)
class Growth:
    """What 45 calls leave behind."""

    objects: tuple[Leaked, ...] = ()
    """The types of which there are more and more, those with most objects first."""
    tensor_bytes: int = 0
    """Memory of tensors that are alive; 0: it does not grow."""
    resident_bytes: int = 0
    """Growth of the resident set, unless it is noise: 0."""
    seconds: tuple[float, float] | None = None
    """Times of a call, the first and the last; None: they do not grow."""
    resident: tuple[int, ...] = ()
    """The resident set at each checkpoint, in bytes."""
    fastest: tuple[float, ...] = ()
    """The fastest call between each two checkpoints, in seconds."""

    @property
    def bytes(self) -> int:
        """All memory that is left behind."""
        seen = self.tensor_bytes + sum(one.bytes for one in self.objects)
        return max(seen, self.resident_bytes)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form of docs/formats.md."""
        return {
            "calls": CALLS,
            "bytes": self.bytes,
            "objects": [asdict(one) for one in self.objects],
            "tensor_bytes": self.tensor_bytes,
            "resident_bytes": self.resident_bytes,
            "slower": self.seconds is not None,
            "resident": list(self.resident),
            "fastest_ns": [1e9 * one for one in self.fastest],
        }


def left_out(reason: str) -> dict[str, Any]:
    """Return what stands in the place of a growth: why it was not measured."""
    return {"left_out": reason}


ONCE = left_out("benchmark.pedantic asks for one call")
_ELSEWHERE = left_out("the work is done in other processes")


class _Series(NamedTuple):
    """45 calls."""

    snapshots: list[Snapshot]
    """One before the first call, and one after each ninth."""
    fastest: list[float]
    """Of each nine calls, in seconds."""

    def types(self) -> dict[str, int]:
        """Return how many more objects there are, by type, where there are more at each checkpoint."""
        last = self.snapshots[-1].objects
        numbers = {name: [one.objects.get(name, 0) for one in self.snapshots] for name in last}
        return {name: found[-1] - found[0] for name, found in numbers.items() if _rises(found)}

    def growth(self) -> Growth:
        """Return what grows, without the objects."""
        tensors = [one.tensor_bytes for one in self.snapshots]
        resident = [one.resident_bytes for one in self.snapshots]
        grown = resident[-1] - resident[0]
        return Growth(
            (),
            tensors[-1] - tensors[0] if _rises(tensors) else 0,
            grown if _rises(resident) and grown > RESIDENT_BYTES else 0,
            (self.fastest[0], self.fastest[-1]) if _rises(self.fastest) else None,
            tuple(resident),
            tuple(self.fastest),
        )


def watch(call: Callable[[], float]) -> dict[str, Any]:
    """Make 50 calls, and 45 more if something seems to grow.

    Args:
        call: makes one call, and returns its time in seconds.

    Returns:
        The JSON form of docs/formats.md.
    """
    live.collect()
    tensors = live.tensors()
    gc.freeze()  # hides all present objects from the collector, which then takes microseconds, not 0.2 s
    try:
        children = _children()
        for _ in range(FIRST):
            call()
        if _children() != children:
            return _ELSEWHERE
        first = _series(call, tensors)
        objects = _sized(types) if (types := first.types()) else ()
    finally:
        gc.unfreeze()
    found = first.growth()
    if found.seconds and found.seconds[1] < SLOWER * found.seconds[0]:
        found = replace(found, seconds=None)
    if not (found.tensor_bytes or found.resident_bytes or found.seconds or objects):
        return found.as_json()
    # Now all objects count. So what takes the place of something older does not.
    again = _series(call, tensors)
    still = again.types()
    objects = tuple(one for one in objects if one.type in still)
    return replace(_confirmed(found, again.growth()), objects=objects).as_json()


def _confirmed(first: Growth, second: Growth) -> Growth:
    """Return what grows in both series."""
    slower = first.seconds and second.seconds and _rises((*first.fastest, *second.fastest))
    return replace(
        first,
        tensor_bytes=first.tensor_bytes if second.tensor_bytes else 0,
        resident_bytes=first.resident_bytes if second.resident_bytes else 0,
        seconds=first.seconds if slower else None,
    )


def _sized(counts: Mapping[str, int]) -> tuple[Leaked, ...]:
    """Return the objects of these types with their size, those with the largest number first."""
    sizes: dict[str, list[int]] = {name: [] for name in counts}
    for one in gc.get_objects():
        if (name := live.name_of(type(one))) in sizes:
            sizes[name].append(_size(one))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Leaked(name, count, count * sum(sizes[name]) // len(sizes[name])) for name, count in ranked)


def _size(one: Any) -> int:
    try:
        return sys.getsizeof(one)
    except Exception:  # noqa: BLE001 - its class may define it
        return 0


def _series(call: Callable[[], float], tensors: "Sequence[ReferenceType[Any]]") -> _Series:
    snapshots = []
    snapshots.append(live.snapshot(tensors))  # now that the list is there
    fastest = array("d")  # no objects, which would be counted
    for _ in range(STEPS):
        fastest.append(min(call() for _ in range(STEP)))
        snapshots.append(live.snapshot(tensors))
    return _Series(snapshots, list(fastest))


def _children() -> int:
    """Return a number that grows when a child process has ended: how many pages all of them touched."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt


def _rises(numbers: Sequence[float]) -> bool:
    return all(one < another for one, another in pairwise(numbers))
