"""Pairs the times of ranges of two sides that took turns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .diff import Path

TREES = ("layers", "ranges", "phases")
"""Kinds of profile with times by range, the most detailed first."""


@dataclass(frozen=True)
class Turns:
    """One range in two processes."""

    before_ns: tuple[int, ...]
    """Its self time in each call."""
    after_ns: tuple[int, ...]
    """The same for the other side; entries at the same index belong to neighbouring turns."""
    share: float
    """Its fastest self time as a fraction of the fastest call, on the side where that is larger."""


def turns(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[Path, Turns]:
    """Pair the times of the ranges that both sides have.

    Args:
        before: a section of a kind with times by range.
        after: the other side's section, with as many calls in turns.

    Returns:
        The times by range path; only calls in which both sides open the range.
    """
    sides = [{tuple(row["path"]): row for row in section["rows"]} for section in (before, after)]
    whole_ns = [min(section["rows"][0]["total_ns"]) for section in (before, after)]
    found = {}
    for path in (path for path in sides[0] if path in sides[1]):
        rows = [side[path]["self_ns"] for side in sides]
        called = [both for both in zip(*rows, strict=True) if all(both)]
        if called:
            before_ns, after_ns = zip(*called, strict=True)
            share = max(min(before_ns) / whole_ns[0], min(after_ns) / whole_ns[1])
            found[path] = Turns(before_ns, after_ns, share)
    return found
