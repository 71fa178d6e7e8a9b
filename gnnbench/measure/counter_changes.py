"""Counts of one call that differ between two sides."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class CounterChange:
    """A count that differs between the sides."""

    name: str
    base: int
    head: int

    def __str__(self) -> str:
        """Write the change: `+4 aten::item`."""
        return f"{self.head - self.base:+} {self.name}"


def between(
    base: Mapping[str, int], head: Mapping[str, int], leave_out: Collection[str] = ()
) -> tuple[CounterChange, ...]:
    """Return the counts that differ, by name; a missing one is 0.

    Args:
        base: counts of the older side, by name.
        head: counts of the newer side.
        leave_out: names to leave out.
    """
    names = sorted({*base, *head} - {*leave_out})
    found = (CounterChange(name, base.get(name, 0), head.get(name, 0)) for name in names)
    return tuple(one for one in found if one.base != one.head)
