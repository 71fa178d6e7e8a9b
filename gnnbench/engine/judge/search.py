"""Decides which candidate to measure next, and when the changes are found. It has no clock.

A noisy binary search (Burnashev and Zigangirov, Problems of Information Transmission 10, 1974): a pair goes
where it tells most, the middle of an interval that has a change or a candidate whose level is in doubt. No
step is ever taken for certain, so the error probability is spent once, where the search ends.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .posterior import Interval, Observation, posterior

ERROR = 0.01
"""Probability of naming a wrong commit, at most."""
_MISSED = 0.2
"""Once a change is named, an interval that has another one with at most this probability is not searched."""
MOST_PAIRS = 16
"""Pairs of one candidate: it is not measured again, whatever they say."""


@dataclass
class Search:
    """What is known of one benchmark."""

    last: int
    least: float
    """The least change that counts, as a logarithm."""
    sign: int
    error: float = ERROR
    observations: list[Observation] = field(default_factory=list)
    same: list[tuple[int, int]] = field(default_factory=list)
    """Two candidates each, the first before the second, that run the same code, as do those between them."""
    broken: set[int] = field(default_factory=set)

    @property
    def intervals(self) -> list[Interval]:
        """What is known so far: the intervals between neighbours that were measured."""
        return posterior(self.last, tuple(self.observations), tuple(self.same), self.least, self.sign)

    def changes(self) -> list[Interval]:
        """Return the intervals whose change is certain enough to be named."""
        return [interval for interval in self.intervals if interval.changed >= 1 - self.error]

    def between(self, interval: Interval) -> list[int]:
        """Return the candidates within an interval that can still be measured."""
        inside = range(interval.low + 1, interval.high)
        return [position for position in inside if position not in self.broken]

    def open(self) -> list[Interval]:
        """Return the intervals that may have a change which is not narrowed down yet."""
        certain = self.changes()
        least = self.error if all(map(self.between, certain)) else _MISSED
        possible = [interval for interval in self.intervals if interval.changed > least]
        doubtful = [each for each in possible if each not in certain]
        again = [each for each in doubtful if any(map(self._can_repeat, (each.low, each.high)))]
        return [each for each in possible if self.between(each) or each in again]

    def _can_repeat(self, position: int) -> bool:
        """Tell whether a candidate that was measured, or runs the same code as another, is worth a pair."""
        pairs = sum(observation.position == position for observation in self.observations)
        is_base = not position or any(low == 0 and position <= high for low, high in self.same)
        return not is_base and pairs < MOST_PAIRS and position not in self.broken

    def scores(self) -> dict[int, float]:
        """Return what a pair tells: the summed variance of whether intervals next to it have a change."""
        scores: dict[int, float] = {}
        if not (unknown := self.open()):
            return scores
        for interval in unknown:
            if inside := self.between(interval):
                middle = self._middle(interval, inside)
                share = (middle - interval.low) / (interval.high - interval.low)
                scores[middle] = 2 * share * (1 - share) * interval.changed
        doubts = [interval.changed * (1 - interval.changed) for interval in self.intervals]
        for interval, before, after in zip(self.intervals, doubts, [*doubts[1:], 0.0], strict=True):
            if self._can_repeat(interval.high):
                scores[interval.high] = before + after
        return {position: score for position, score in scores.items() if score > 0}

    def _middle(self, interval: Interval, inside: Sequence[int]) -> int:
        """Return the candidate nearest to the middle, but far from those that cannot be measured."""
        length = interval.high - interval.low
        broken = [position for position in self.broken if interval.low < position < interval.high]

        def worth(position: int) -> float:
            share = (position - interval.low) / length
            near = min((abs(position - other) for other in broken), default=length)
            return share * (1 - share) * near / (near + length / 8)

        return max(inside, key=worth)


def next_position(searches: Mapping[str, Search]) -> tuple[int, list[str]] | None:
    """Return the candidate to measure next and the benchmarks to measure there. None if all is known."""
    total: dict[int, float] = {}
    for search in searches.values():
        for position, score in search.scores().items():
            total[position] = total.get(position, 0.0) + score
    if not total:
        return None
    best = max(total, key=lambda position: (total[position], -position))
    useful = [  # where it lies in or beside an interval that is open
        name
        for name, search in searches.items()
        if best not in search.broken and any(each.low <= best <= each.high for each in search.open())
    ]
    return best, useful


def least_change(effect: float, log_ratio: float) -> float:
    """Return half of the minimum effect of interest, or a quarter of the change between the ends if more."""
    return max(math.log1p(effect) / 2, abs(log_ratio) / 4)
