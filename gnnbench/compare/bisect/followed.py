"""The searches of all benchmarks that differ between the ends."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..ab.schedule import Decision
from ..verdict import Thresholds
from .measured import Measured, Seen, observation
from .posterior import PAIR_VARIANCE, Observation
from .search import ERROR, Change, Search, least_change, next_position

_SHORTEST, _USUAL, _LONGEST = 0.3, 0.5, 4.0
"""Seconds of a visit."""


@dataclass(frozen=True)
class Span:
    """Where a change of a benchmark lies: after candidate `low`, at `high` or before."""

    low: int
    high: int
    ratio: float
    bounds: tuple[float, float]
    """99 % interval of the ratio."""


class Followed:
    """What is known of the benchmarks that differ between the ends, along the line.

    Args:
        last: position of the bad end.
        thresholds: minimum effects of interest.
        skipped: candidates that are not to be measured.
    """

    def __init__(self, last: int, thresholds: Thresholds, skipped: frozenset[int]) -> None:
        self._last, self._thresholds, self._skipped = last, thresholds, skipped
        self.searches: dict[str, Search] = {}
        """By benchmark."""
        self.reasons: dict[int, str] = {}
        """Why a candidate cannot be measured, of those where nothing can; or why one benchmark cannot."""
        self._at_ends: list[Measured] = []
        self._seen: dict[tuple[str, int], Seen] = {}

    def begin(self, decisions: Mapping[str, Decision]) -> None:
        """Follow the benchmarks that are slower or faster at the bad end."""
        ratios = {
            name: one.judgement.ratio
            for name, one in decisions.items()
            if one.judgement.verdict in ("slower", "faster") and one.judgement.ratio
        }
        for name, ratio in ratios.items():
            log_ratio = math.log(ratio)
            least, sign = (
                least_change(self._thresholds.of(name).effect, log_ratio),
                1 if log_ratio > 0 else -1,
            )
            search = Search(self._last, least, sign, ERROR / len(ratios))
            for position in self._skipped:
                search.cannot(position)
            self.searches[name] = search
        for one in self._at_ends:
            self._take(one)

    def add(self, one: Measured) -> None:
        """Add a pair; those of the ends before or after `begin`."""
        if one.ends:
            self._at_ends.append(one)
            if not self.searches:
                return
        self._take(one)

    def _take(self, one: Measured) -> None:
        if one.broken:
            self.reasons[one.position] = one.broken
            for search in self.searches.values():
                search.cannot(one.position)
        for name, search in self.searches.items():
            if sides := one.seen.get(name):
                self._see(name, one.position, sides)
            if visit := one.visits.get(name):
                search.add(observation(one.position, visit))
            failure = one.failures.get(name)
            if failure and failure.kind != "same code" and "base" not in failure.sides and not one.ends:
                self.reasons.setdefault(one.position, f"{name}: {failure.text}")
                search.cannot(one.position)

    def _see(self, name: str, position: int, sides: tuple[Seen, Seen]) -> None:
        """Note what a benchmark runs, and at which candidates it runs the same."""
        search = self.searches[name]
        for at, seen in ((0, sides[0]), (position, sides[1])):
            self._seen[name, at] = seen
            search.counters[at] = seen.counts
        if sides[0].code and sides[0].code == sides[1].code:
            search.add(Observation(position, 0.0, 0.0))
        for alike in self._alike(name, position, sides[1]):
            search.same(position, alike)

    def _alike(self, name: str, position: int, seen: Seen) -> list[int]:
        if seen.code is None:
            return []
        return [
            at
            for (other, at), one in self._seen.items()
            if other == name and at != position and one.code == seen.code
        ]

    def known(self, name: str, position: int, seen: Seen) -> bool:
        """Tell whether a benchmark need not be timed where it is inspected now."""
        return name in self.searches and bool(self._alike(name, position, seen))

    def next(self) -> tuple[int, list[str]] | None:
        """Return the candidate to measure next, and the benchmarks to measure there; None: all is found."""
        return next_position(self.searches)

    def seconds(self, names: list[str]) -> dict[str, float]:
        """Return how long to time each benchmark in the next pair.

        As in `ab.schedule`: sqrt(c w / v), from the pairs of the ends.
        """
        starts = [one.start_seconds for one in self._at_ends]
        cost = sum(starts) / max(len(starts), 1) / len(names)
        found = {}
        for name in names:
            visits = [one.visits[name] for one in self._at_ends if name in one.visits]
            noises = [observation(0, visit).variance * visit.seconds for visit in visits]
            noise = sorted(noises)[len(noises) // 2] if noises else 0.0
            best = math.sqrt(cost * noise / PAIR_VARIANCE) if noise else _USUAL
            found[name] = min(max(best, _SHORTEST), _LONGEST)
        return found

    @property
    def left(self) -> int:
        """How many candidates may still be the cause of a change that is not narrowed down."""
        found: set[int] = set()
        for search in self.searches.values():
            for one in search.open():
                found.update(range(one.low + 1, one.high + 1))
        return len(found)

    def spans(self) -> dict[str, list[Span]]:
        """Return the changes of each benchmark, the largest first."""
        return {name: _spans(search) for name, search in self.searches.items()}


def _spans(search: Search) -> list[Span]:
    changes = search.changes()
    if changes:
        return [_span(one) for one in changes]
    # No interval alone is certain: those that may have it, together.
    intervals = search.posterior.intervals
    may = [one for one in intervals if one.changed > search.error] or list(intervals)
    low, high = may[0].low, may[-1].high
    likely = max(may, key=lambda one: one.changed)
    bounds = math.exp(min(one.bounds[0] for one in may)), math.exp(max(one.bounds[1] for one in may))
    return [Span(low, high, math.exp(likely.log_ratio), bounds)]


def _span(one: Change) -> Span:
    bounds = math.exp(one.bounds[0]), math.exp(one.bounds[1])
    return Span(one.low, one.high, math.exp(one.log_ratio), bounds)
