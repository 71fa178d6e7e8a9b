"""Finds the fastest of several ways from times that were taken in turns, and the distances of the others.

A block times each remaining way, in random order, on the same new copies of the inputs. So disturbances of a
whole block cancel in its ratios. All values are natural logarithms.

The fastest way of several noisy ones looks faster than it is (the winner's curse). So ways are chosen by the
blocks of one phase, and ratios are taken from blocks of a second phase.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Self

import numpy as np
from msgspec import Meta
from scipy import special

from ...engine.ground.codec import NotNegative, Positive

LEVEL = 0.99
"""Confidence that the fastest way of each group stays in, over all ways and analyses of a race."""
LOOKS = (5, 8, 12, 18, 27, 40)
"""Numbers of blocks after which the race is analysed."""
FRESH_LOOKS = (6, 9, 13, 20, 30)
"""Numbers of blocks of the second phase after which ratios are analysed."""
BETWEEN_PROCESSES = 0.04
"""Standard deviation of a log ratio between processes, which one process cannot see. With it, 1.1 % of 3,447
regrets of two runs differ by more than 2.58 standard errors, as they should (docs/apps/regret.md)."""


@dataclass(frozen=True)
class Ratio:
    """The time of a way divided by that of another."""

    ratio: Positive
    error: NotNegative
    """Standard error of the natural logarithm; infinite with fewer than two blocks."""
    blocks: Annotated[int, Meta(ge=2, lt=10**18)]
    """At least two in a saved ratio."""

    @property
    def log(self) -> float:
        """The natural logarithm."""
        return math.log(self.ratio)

    @property
    def saved(self) -> Self | None:
        """The ratio. None if there are too few blocks."""
        return self if math.isfinite(self.error) else None

    @property
    def degrees_of_freedom(self) -> float:
        """Degrees of freedom by Welch and Satterthwaite; the part BETWEEN_PROCESSES of the error is exact."""
        within = max(self.error**2 - BETWEEN_PROCESSES**2, 0.0)
        return (self.blocks - 1) * (self.error**2 / within) ** 2 if within else math.inf

    def half_width(self, level: float, family: int = 1) -> float:
        """Return the half-width of the confidence interval that covers `family` ratios at once."""
        if self.blocks < 2:  # noqa: PLR2004 - no degree of freedom
            return math.inf
        return -self.error * float(special.stdtrit(self.blocks - 1, (1 - level) / 2 / family))


@dataclass
class Race:
    """The times of all ways, and which ways may still be the fastest."""

    ways: int
    effect: float
    """Ways that differ by less than this fraction are equally fast."""
    groups: Sequence[Collection[int]]
    """Sets of ways; the race finds the fastest of each."""
    _logs: list[dict[int, float]] = field(default_factory=list)
    _out: set[tuple[int, int]] = field(default_factory=set)
    """Pairs of group and way that are out of the race."""
    _settled: set[int] = field(default_factory=set)
    """Groups with an answer."""

    @property
    def blocks(self) -> int:
        """The number of blocks so far."""
        return len(self._logs)

    def left(self, group: int) -> list[int]:
        """Return the ways of a group that may be its fastest."""
        return [way for way in self.groups[group] if (group, way) not in self._out]

    @property
    def wanted(self) -> list[int]:
        """The ways that the next block times: the remaining ways of each group without an answer."""
        groups = [
            group
            for group in range(len(self.groups))
            if group not in self._settled and len(self.left(group)) > 1
        ]
        return sorted({way for group in groups for way in self.left(group)})

    def drop_far(self, seconds: Sequence[float], factor: float) -> None:
        """Leave out ways that took more than `factor` times as long as the fastest of their group."""
        for group, ways in enumerate(self.groups):
            least = min(seconds[way] for way in ways)
            self._out |= {(group, way) for way in ways if seconds[way] > factor * least}

    def add(self, logs: dict[int, float]) -> None:
        """Add a block, the log time of each way timed. After some blocks, leave out slower ways."""
        self._logs.append(logs)
        if self.blocks not in LOOKS:
            return
        for group in range(len(self.groups)):
            fastest = self.fastest(group)
            for way in self.left(group):
                ratio = self.ratio(way, fastest)
                if way != fastest and ratio.log > self._width(ratio):
                    self._out.add((group, way))
            if self.is_decided(group):
                self._settled.add(group)

    def fastest(self, group: int) -> int:
        """Return the way of a group with the smallest median over the last common blocks."""
        ways = self.left(group)
        common = [logs for logs in self._logs if all(way in logs for way in ways)] or [{}]
        return min(ways, key=lambda way: float(np.median([logs.get(way, math.inf) for logs in common])))

    def equally_fast(self, group: int) -> list[int]:
        """Return the ways of a group that are within the effect of the fastest way, which is not listed."""
        fastest = self.fastest(group)
        ratios = {way: self.ratio(way, fastest) for way in self.left(group) if way != fastest}
        return [
            way
            for way, ratio in ratios.items()
            if abs(ratio.log) + self._width(ratio) < math.log1p(self.effect)
        ]

    def is_decided(self, group: int) -> bool:
        """Return whether all other ways of a group are slower, or equally fast."""
        return len(self.equally_fast(group)) == len(self.left(group)) - 1

    def ratio(self, way: int, base: int) -> Ratio:
        """Return the log ratio of two ways in the blocks that timed both."""
        return ratio_in(self._logs, way, base)

    def of(self, way: int) -> list[float]:
        """Return the log seconds of a way."""
        return [logs[way] for logs in self._logs if way in logs]

    def _width(self, ratio: Ratio) -> float:
        return ratio.half_width(LEVEL, self.ways * len(LOOKS) * len(self.groups))


def ratio_in(blocks: Sequence[Mapping[int, float]], way: int, base: int, between: float = 0.0) -> Ratio:
    """Return the log ratio of two ways in the blocks that timed both; `between` as in `ratio_of`."""
    logs = [block[way] - block[base] for block in blocks if way in block and base in block]
    return ratio_of(logs, 0.0 if way == base else between)


def ratio_of(logs: Sequence[float], between: float = 0.0) -> Ratio:
    """Return the mean log ratio of blocks.

    `between` is the standard deviation between processes, which is added to the error of the blocks.
    """
    count = len(logs)
    if count < 2:  # noqa: PLR2004 - no variance
        return Ratio(math.exp(logs[0]) if logs else math.nan, math.inf, count)
    error = math.hypot(float(np.std(logs, ddof=1)) / math.sqrt(count), between)
    return Ratio(math.exp(np.mean(logs)), error, count)
