"""Decides which candidate to measure next, and when the changes are found. It has no clock.

It is a noisy binary search (Burnashev and Zigangirov, Problems of Information Transmission 10, 1974): each
pair goes where it tells most, the middle of an interval that has a change or a candidate whose level is in
doubt, and no step is ever taken for certain. So the error probability is spent once, where the search ends,
and not at each of its steps.
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
    """What is known of one benchmark.

    Args:
        least: the least change that counts, as a logarithm.
    """

    last: int
    least: float
    sign: int
    error: float = ERROR
    observations: list[Observation] = field(default_factory=list)
    same: list[tuple[int, int]] = field(default_factory=list)
    """Two candidates each, the first before the second, that run the same code, as do those between them."""
    broken: set[int] = field(default_factory=set)
    """Candidates that cannot be measured."""

    @property
    def intervals(self) -> list[Interval]:
        """What is known so far: the intervals between neighbours that were measured."""
        return posterior(self.last, tuple(self.observations), tuple(self.same), self.least, self.sign)

    def changes(self) -> list[Interval]:
        """Return the intervals whose change is certain enough to be named.

        While the search is unfinished, candidates within them are left to measure.
        """
        return [interval for interval in self.intervals if interval.changed >= 1 - self.error]

    def between(self, interval: Interval) -> list[int]:
        """Return the candidates within an interval that can still be measured."""
        inside = range(interval.low + 1, interval.high)
        return [position for position in inside if position not in self.broken]

    def open(self) -> list[Interval]:
        """Return the intervals that may have a change which is not narrowed down yet."""
        certain = self.changes()
        least = self.error if all(map(self.between, certain)) else _MISSED
        return [
            interval
            for interval in self.intervals
            if interval.changed > least
            and (
                self.between(interval)
                or (interval not in certain and any(map(self._can_repeat, (interval.low, interval.high))))
            )
        ]

    def _can_repeat(self, position: int) -> bool:
        """Tell whether a candidate that was measured, or runs the same code as another, is worth a pair."""
        pairs = sum(observation.position == position for observation in self.observations)
        is_base = not position or any(low == 0 and position <= high for low, high in self.same)
        return not is_base and pairs < MOST_PAIRS and position not in self.broken

    def scores(self) -> dict[int, float]:
        """Return the candidates that are worth a pair, and how much each tells.

        The score is the sum, over the intervals next to the candidate, of the variance of whether they have a
        change: at most a half, of a candidate that is as likely before the change as after it.
        """
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
    """Return the candidate to measure next and the benchmarks to measure there; None: all is known."""
    total: dict[int, float] = {}
    for search in searches.values():
        for position, score in search.scores().items():
            total[position] = total.get(position, 0.0) + score
    if not total:
        return None
    best = max(total, key=lambda position: (total[position], -position))
    return best, [name for name, search in searches.items() if _useful(search, best)]


def _useful(search: Search, position: int) -> bool:
    """Tell whether a candidate lies in or beside an interval that is open."""
    return position not in search.broken and any(
        interval.low <= position <= interval.high for interval in search.open()
    )


def least_change(effect: float, log_ratio: float) -> float:
    """Return the least log ratio that counts as a change.

    It is half of the minimum effect of interest, or a quarter of the change between the ends if that is more.
    """
    return max(math.log1p(effect) / 2, abs(log_ratio) / 4)
