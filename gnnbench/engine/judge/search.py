"""Decides, without a clock, which candidate to measure next, and when the changes are found.

A noisy binary search (Burnashev and Zigangirov, Problems of Information Transmission 10, 1974): each pair
measures the most informative candidate, in the middle of an interval with a change, or with a doubtful
level. No step counts as certain, so the error probability is spent only once, at the end of the search.
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
"""Most pairs of one candidate, whatever they show."""


@dataclass
class Search:
    """What is known about one benchmark."""

    last: int
    least: float
    """The least change that counts, as a logarithm."""
    sign: int
    error: float = ERROR
    observations: list[Observation] = field(default_factory=list)
    same: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of candidates, in order, that run the same code, as do all candidates between them."""
    broken: set[int] = field(default_factory=set)

    @property
    def intervals(self) -> list[Interval]:
        """The intervals between neighbouring measured candidates, by all observations so far."""
        return posterior(self.last, tuple(self.observations), tuple(self.same), self.least, self.sign)

    def changes(self) -> list[Interval]:
        """Return the intervals whose change is certain enough to be named."""
        return [interval for interval in self.intervals if interval.changed >= 1 - self.error]

    def between(self, interval: Interval) -> list[int]:
        """Return the candidates within an interval that can still be measured."""
        positions = range(interval.low + 1, interval.high)
        return [position for position in positions if position not in self.broken]

    def open(self) -> list[Interval]:
        """Return the intervals that may have a change that is not narrowed down yet."""
        changes = self.changes()
        threshold = self.error if all(map(self.between, changes)) else _MISSED
        possible = [interval for interval in self.intervals if interval.changed > threshold]
        doubtful = [span for span in possible if span not in changes]
        repeatable = [span for span in doubtful if any(map(self._can_repeat, (span.low, span.high)))]
        return [span for span in possible if self.between(span) or span in repeatable]

    def _can_repeat(self, position: int) -> bool:
        """Tell whether a measured candidate, or one with the same code as another, may get a further pair."""
        pairs = sum(observation.position == position for observation in self.observations)
        is_base = not position or any(low == 0 and position <= high for low, high in self.same)
        return not is_base and pairs < MOST_PAIRS and position not in self.broken

    def scores(self) -> dict[int, float]:
        """Return how informative candidates are: the variances of whether their intervals change, summed."""
        scores: dict[int, float] = {}
        if not (intervals := self.open()):
            return scores
        for interval in intervals:
            if positions := self.between(interval):
                middle = self._middle(interval, positions)
                share = (middle - interval.low) / (interval.high - interval.low)
                scores[middle] = 2 * share * (1 - share) * interval.changed
        variances = [interval.changed * (1 - interval.changed) for interval in self.intervals]
        for interval, before, after in zip(self.intervals, variances, [*variances[1:], 0.0], strict=True):
            if self._can_repeat(interval.high):
                scores[interval.high] = before + after
        return {position: score for position, score in scores.items() if score > 0}

    def _middle(self, interval: Interval, positions: Sequence[int]) -> int:
        """Return the candidate nearest to the middle, but far from candidates that cannot be measured."""
        length = interval.high - interval.low
        broken = [position for position in self.broken if interval.low < position < interval.high]

        def worth(position: int) -> float:
            share = (position - interval.low) / length
            distance = min((abs(position - other) for other in broken), default=length)
            return share * (1 - share) * distance / (distance + length / 8)

        return max(positions, key=worth)


def next_position(searches: Mapping[str, Search]) -> tuple[int, list[str]] | None:
    """Return the next candidate to measure and its benchmarks. Returns None if everything is known."""
    total: dict[int, float] = {}
    for search in searches.values():
        for position, score in search.scores().items():
            total[position] = total.get(position, 0.0) + score
    if not total:
        return None
    best = max(total, key=lambda position: (total[position], -position))
    names = [  # that have an open interval with the candidate, or next to it
        name
        for name, search in searches.items()
        if best not in search.broken and any(span.low <= best <= span.high for span in search.open())
    ]
    return best, names


def least_change(effect: float, log_ratio: float) -> float:
    """Return half of the minimum effect of interest, or a quarter of the change between the ends if more."""
    return max(math.log1p(effect) / 2, abs(log_ratio) / 4)
