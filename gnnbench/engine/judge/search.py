"""Decides which candidate to measure next, and when the changes are found. It has no clock.

It is a noisy binary search (Burnashev and Zigangirov, Problems of Information Transmission 10, 1974): each
pair goes where it tells most, the middle of an interval that has a change or a candidate whose level is in
doubt, and no step is ever taken for certain. So the error probability is spent once, where the search ends,
and not at each of its steps.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .posterior import Interval, Observation, posterior

ERROR = 0.01
"""Probability of naming a wrong commit, at most."""
_MISSED = 0.2
"""Once a change is named, an interval that has another one with at most this probability is not searched."""
MOST_PAIRS = 16
"""Pairs of one candidate: it is not measured again, whatever they say."""
_COUNTERS = 4.0
"""How much likelier a change is where counters are known to change."""


@dataclass
class Search:
    """What is known of one benchmark.

    Args:
        least: the least change that counts, as a logarithm.
    """

    last: int
    least: float
    sign: int
    error: float = ERROR
    observations: list[Observation] = field(default_factory=list)
    equal: dict[int, int] = field(default_factory=dict)
    """Candidates that run the same code as an earlier one, and the first of those."""
    broken: set[int] = field(default_factory=set)
    """Candidates that cannot be measured."""
    counters: dict[int, str] = field(default_factory=dict)
    """By candidate, what one call counts; equal texts are equal counts."""
    _known: list[Interval] | None = None

    def add(self, observation: Observation) -> None:
        """Add a pair."""
        self.observations.append(observation)
        self._known = None

    def same(self, position: int, as_position: int) -> None:
        """Add that a candidate runs the same code as another."""
        firsts = {self.equal.get(one, one) for one in (position, as_position)}
        alike = {position, as_position, *firsts}
        alike.update(one for one, first in self.equal.items() if first in firsts)
        self.equal.update(dict.fromkeys(alike, min(alike)))
        del self.equal[min(alike)]
        self._known = None

    @property
    def intervals(self) -> list[Interval]:
        """What the measurements say so far: the intervals between neighbours that were measured."""
        if self._known is None:
            self._known = posterior(
                self.last,
                self.observations,
                least=self.least,
                sign=self.sign,
                equal=self.equal,
                weights=self._weights(),
            )
        return self._known

    def _weights(self) -> list[float]:
        weights = [1.0] * self.last
        known = sorted(self.counters)
        for low, high in pairwise(known):
            if self.counters[low] != self.counters[high]:
                weights[low:high] = [_COUNTERS] * (high - low)
        return weights

    def between(self, interval: Interval) -> list[int]:
        """Return the candidates within an interval that can still be measured."""
        inside = range(interval.low + 1, interval.high)
        return [position for position in inside if position not in self.broken]

    def open(self) -> list[Interval]:
        """Return the intervals that may have a change which is not narrowed down yet."""
        found = self.intervals
        named = any(self._named(one) for one in found)
        return [
            one for one in found if one.changed > (_MISSED if named else self.error) and self._is_open(one)
        ]

    def _named(self, interval: Interval) -> bool:
        return interval.changed >= 1 - self.error and not self.between(interval)

    def _is_open(self, interval: Interval) -> bool:
        if self.between(interval):
            return True
        can_repeat = self._can_repeat(interval.low) or self._can_repeat(interval.high)
        return can_repeat and not self._named(interval)

    def _can_repeat(self, position: int) -> bool:
        """Tell whether a candidate that was measured, or runs the same code as others, is worth a pair."""
        pairs = sum(one.position == position for one in self.observations)
        is_base = not self.equal.get(position, position)
        return not is_base and pairs < MOST_PAIRS and position not in self.broken

    def scores(self) -> dict[int, float]:
        """Return the candidates that are worth a pair, and how much each tells.

        The score is the sum, over the intervals next to the candidate, of the variance of whether they have a
        change: at most a half, of a candidate that is as likely before the change as after it.
        """
        found: dict[int, float] = {}
        if not (left := self.open()):
            return found
        for one in left:
            if inside := self.between(one):
                middle = self._middle(one, inside)
                share = (middle - one.low) / (one.high - one.low)
                found[middle] = 2 * share * (1 - share) * one.changed
        doubts = [one.changed * (1 - one.changed) for one in self.intervals]
        for one, before, after in zip(self.intervals, doubts, [*doubts[1:], 0.0], strict=True):
            if self._can_repeat(one.high):
                found[one.high] = before + after
        return {position: score for position, score in found.items() if score > 0}

    def _middle(self, interval: Interval, inside: Sequence[int]) -> int:
        """Return the candidate nearest to the middle, but far from those that cannot be measured."""
        length = interval.high - interval.low
        broken = [one for one in self.broken if interval.low < one < interval.high]

        def worth(position: int) -> float:
            share = (position - interval.low) / length
            near = min((abs(position - one) for one in broken), default=length)
            return share * (1 - share) * near / (near + length / 8)

        return max(inside, key=worth)

    def changes(self) -> list[Interval]:
        """Return the intervals whose change is certain enough to be named, the largest change first.

        While the search is unfinished, candidates within them are left to measure.
        """
        found = [one for one in self.intervals if one.changed >= 1 - self.error]
        return sorted(found, key=lambda one: -abs(one.log_ratio))


def next_position(searches: Mapping[str, Search]) -> tuple[int, list[str]] | None:
    """Return the candidate to measure next and the benchmarks to measure there; None: all is found."""
    scores = {name: search.scores() for name, search in searches.items()}
    total: dict[int, float] = {}
    for found in scores.values():
        for position, score in found.items():
            total[position] = total.get(position, 0.0) + score
    if not total:
        return None
    best = max(total, key=lambda position: (total[position], -position))
    return best, [name for name, found in scores.items() if found and _useful(searches[name], best)]


def _useful(search: Search, position: int) -> bool:
    """Tell whether a candidate lies in or beside an interval that is open."""
    return position not in search.broken and any(one.low <= position <= one.high for one in search.open())


def least_change(effect: float, log_ratio: float) -> float:
    """Return the least log ratio that counts as a change.

    It is half of the minimum effect of interest, or a quarter of the change between the ends if that is more.
    """
    return max(math.log1p(effect) / 2, abs(log_ratio) / 4)
