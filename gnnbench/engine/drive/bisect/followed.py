"""What the pairs say of the ends, and of the benchmarks that differ between them, along the line."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...ground import codec
from ...judge.posterior import PAIR_VARIANCE, Interval, Observation
from ...judge.schedule import Decision
from ...judge.search import ERROR, Search, least_change
from ...judge.verdict import Thresholds
from ...judge.visit import Inspections, Pair, Visit, sample
from ...measure.cost import Cost
from .line import Line

_SHORTEST, _USUAL, _LONGEST = 0.3, 0.5, 4.0
"""Seconds of a visit."""


@dataclass(frozen=True)
class Change:
    """By how much a benchmark changed."""

    ratio: float
    """Time after the change divided by the time before."""
    bounds: tuple[float, float]
    """99 % interval of the ratio."""

    @classmethod
    def of(cls, interval: Interval) -> "Change":
        """Return the change in an interval."""
        low, high = map(math.exp, interval.bounds)
        return cls(math.exp(interval.log_ratio), (low, high))

    @property
    def size(self) -> float:
        """How large it is, whatever its direction."""
        return max(self.ratio, 1 / self.ratio)


@dataclass(frozen=True)
class Seen:
    """What one call of a benchmark runs."""

    code: str | None
    """Hash of its fingerprint; None: it has none."""
    counts: str
    """What it counts; equal texts are equal counts."""
    cost: Cost | None = None
    """What it costs; None if it is not known."""

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> "Seen":
        """Take what a worker answered to `inspect`."""
        fingerprint = answer["fingerprint"]
        code = f"{fingerprint['code']} {fingerprint['settings']}" if fingerprint else None
        counts = " ".join(f"{name}={number}" for name, number in sorted(answer["counts"].items()))
        cost = answer.get("cost")
        return cls(code, counts, cost and codec.decode(cost, Cost))

    def is_same(self, other: "Seen") -> bool:
        """Tell whether another one is known to run the same code at the same cost."""
        if not self.code or self.code != other.code:
            return False
        return not (self.cost and other.cost and self.cost.change(other.cost))


@dataclass(frozen=True)
class Measured(Pair):
    """What a pair of processes, candidate 0 and another one, has said."""

    position: int = 0
    """Of the other one."""
    ends: bool = False
    """Whether it was one of the pairs that tell whether the ends differ."""
    broken: str | None = None
    """Why nothing can be measured here; None: something can."""
    seen: Mapping[str, tuple[Seen, Seen]] = field(default_factory=dict)
    """By benchmark, what candidate 0 and this one run, of those that were inspected."""

    @property
    def seconds(self) -> float:
        """Duration of the pair."""
        return self.start_seconds + self.settled_seconds + sum(one.seconds for one in self.visits.values())


def observation(position: int, visit: Visit) -> Observation:
    """Return the log ratio of a visit and the variance of the noise within it.

    It is the mean of the two estimates of `sample`, weighted so that its variance is smallest.
    """
    found = sample(visit)
    (of_location, shared), (_, of_turns) = found.noise
    both = of_location + of_turns - 2 * shared
    if not np.isfinite(both):
        return Observation(position, found.head - found.base, PAIR_VARIANCE)
    share = min(max((of_turns - shared) / both, 0.0), 1.0) if both > 0 else 1.0
    log_ratio = share * (found.head - found.base) + (1 - share) * found.turns
    variance = share**2 * of_location + 2 * share * (1 - share) * shared + (1 - share) ** 2 * of_turns
    return Observation(position, float(log_ratio), float(max(variance, math.ulp(1.0))))


class Followed:
    """The searches of the benchmarks that differ between the ends."""

    def __init__(self, line: Line, thresholds: Thresholds) -> None:
        self._line, self._thresholds = line, thresholds
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
            least = least_change(self._thresholds.of(name).effect, math.log(ratio))
            sign = 1 if ratio > 1 else -1
            self.searches[name] = Search(
                self._line.last, least, sign, ERROR / len(ratios), broken=set(self._line.skipped)
            )
        for one in self._at_ends:
            self._take(one)

    def add(self, one: Measured) -> None:
        """Add a pair; those of the ends come before `begin`."""
        if one.ends:
            self._at_ends.append(one)
        self._take(one)

    def _take(self, one: Measured) -> None:
        if one.broken:
            self.reasons[one.position] = one.broken
        for name, search in self.searches.items():
            if one.broken:
                search.broken.add(one.position)
            if sides := one.seen.get(name):
                self._see(name, one.position, sides)
            if visit := one.visits.get(name):
                search.add(observation(one.position, visit))
            failure = one.failures.get(name)
            if failure and failure.kind != "same code" and "base" not in failure.sides and not one.ends:
                self.reasons.setdefault(one.position, f"{name}: {failure.text}")
                search.broken.add(one.position)

    def _see(self, name: str, position: int, sides: tuple[Seen, Seen]) -> None:
        """Note what a benchmark runs, and at which candidates it runs the same."""
        search = self.searches[name]
        for at, seen in ((0, sides[0]), (position, sides[1])):
            self._seen[name, at] = seen
            search.counters[at] = seen.counts
        if sides[0].is_same(sides[1]):
            search.add(Observation(position, 0.0, 0.0))
        for alike in self._alike(name, position, sides[1]):
            search.same(position, alike)

    def _alike(self, name: str, position: int, seen: Seen) -> list[int]:
        return [
            at
            for (other, at), one in self._seen.items()
            if other == name and at != position and one.is_same(seen)
        ]

    def known(self, position: int, name: str, found: Inspections) -> bool:
        """Tell whether a benchmark need not be timed where it is inspected now."""
        return name in self.searches and bool(self._alike(name, position, Seen.of(found.sides[1])))

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
        intervals = [one for search in self.searches.values() for one in search.open()]
        return len({position for one in intervals for position in range(one.low + 1, one.high + 1)})

    def changes(self) -> dict[tuple[int, int], dict[str, Change]]:
        """Return the changes, the largest first.

        Returns:
            By the last candidate without them and the first that is known to have them, by benchmark.
        """
        found = [
            ((one.low, one.high), name, Change.of(one))
            for name, search in self.searches.items()
            for one in search.changes() or [_likely(search)]
        ]
        places: dict[tuple[int, int], dict[str, Change]] = {}
        for place, name, change in sorted(found, key=lambda each: -each[2].size):
            places.setdefault(place, {})[name] = change
        return places


def _likely(search: Search) -> Interval:
    """Return the intervals that may have the change together, as none alone is certain to have it."""
    may = [one for one in search.intervals if one.changed > search.error] or search.intervals
    likely = max(may, key=lambda one: one.changed)
    bounds = min(one.bounds[0] for one in may), max(one.bounds[1] for one in may)
    return replace(likely, low=may[0].low, high=may[-1].high, bounds=bounds)
