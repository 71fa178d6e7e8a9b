"""Finds the fastest of several ways to compute an operation, and how much slower the others are.

A race consists of blocks. A block times each remaining way, in random order, on the same new copies of the
inputs, so a disturbance of the whole block cancels in its ratios. Ways are identified by numbers.

The fastest of several noisy ways looks faster than it is (the winner's curse). So the blocks of a first phase
choose the fastest way, and the blocks of a second phase give the ratios.
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
"""Probability that the fastest way of each group stays in the race, over all ways and analyses."""
ANALYSES = (5, 8, 12, 18, 27, 40)
"""Numbers of blocks after which the race is analysed."""
FRESH_ANALYSES = (6, 9, 13, 20, 30)
"""Numbers of blocks of the second phase after which ratios are analysed."""
BETWEEN_PROCESSES = 0.04
"""Standard deviation of a log ratio between processes, which one process cannot measure. With it, 1.1 % of
3,447 regrets differ between two runs by over 2.58 standard errors; 1 % is expected (docs/apps/regret.md)."""


@dataclass(frozen=True)
class Ratio:
    """The time of a way divided by the time of another way."""

    ratio: Positive
    error: NotNegative
    """Standard error of the natural logarithm; infinite with fewer than two blocks."""
    blocks: Annotated[int, Meta(ge=2, lt=10**18)]
    """Number of blocks; at least two in a saved ratio."""

    @property
    def log(self) -> float:
        """The natural logarithm."""
        return math.log(self.ratio)

    @property
    def if_finite(self) -> Self | None:
        """The ratio. None if its standard error is infinite."""
        return self if math.isfinite(self.error) else None

    @property
    def degrees_of_freedom(self) -> float:
        """Degrees of freedom by Welch and Satterthwaite, as if BETWEEN_PROCESSES were known exactly."""
        within = max(self.error**2 - BETWEEN_PROCESSES**2, 0.0)
        return (self.blocks - 1) * (self.error**2 / within) ** 2 if within else math.inf

    def half_width(self, level: float, family: int = 1) -> float:
        """Return the half-width of the log ratio's confidence interval, simultaneous for `family` ratios."""
        if self.blocks < 2:  # noqa: PLR2004 - no degree of freedom
            return math.inf
        return -self.error * float(special.stdtrit(self.blocks - 1, (1 - level) / 2 / family))


@dataclass
class Race:
    """The times of all ways in the first phase, and which ways may still be the fastest."""

    ways: int
    """The number of ways."""
    effect: float
    """Ways that differ by less than this fraction are equally fast."""
    groups: Sequence[Collection[int]]
    """Sets of ways; the race finds the fastest of each."""
    _blocks: list[dict[int, float]] = field(default_factory=list)
    """For each block, log seconds by way."""
    _excluded: set[tuple[int, int]] = field(default_factory=set)
    """Pairs of a group and a way that is certainly not its fastest."""
    _decided: set[int] = field(default_factory=set)
    """Groups whose fastest way is known."""

    @property
    def block_count(self) -> int:
        """The number of blocks so far."""
        return len(self._blocks)

    def remaining(self, group: int) -> list[int]:
        """Return the ways of a group that may be its fastest."""
        return [way for way in self.groups[group] if (group, way) not in self._excluded]

    @property
    def next_ways(self) -> list[int]:
        """The ways that the next block times: the remaining ways of each undecided group."""
        groups = [
            group
            for group in range(len(self.groups))
            if group not in self._decided and len(self.remaining(group)) > 1
        ]
        return sorted({way for group in groups for way in self.remaining(group)})

    def exclude_slow(self, seconds: Sequence[float], factor: float) -> None:
        """Exclude the ways that took over `factor` times as long as the fastest of their group."""
        for group, ways in enumerate(self.groups):
            least = min(seconds[way] for way in ways)
            self._excluded |= {(group, way) for way in ways if seconds[way] > factor * least}

    def add(self, logs: dict[int, float]) -> None:
        """Add a block (log seconds by way). If the number of blocks is in ANALYSES, exclude slower ways."""
        self._blocks.append(logs)
        if self.block_count not in ANALYSES:
            return
        for group in range(len(self.groups)):
            fastest = self.fastest(group)
            for way in self.remaining(group):
                ratio = self.ratio(way, fastest)
                if way != fastest and ratio.log > self._width(ratio):
                    self._excluded.add((group, way))
            if self.is_decided(group):
                self._decided.add(group)

    def fastest(self, group: int) -> int:
        """Return the way of a group with the smallest median in the blocks that timed all remaining ways."""
        ways = self.remaining(group)
        common = [logs for logs in self._blocks if all(way in logs for way in ways)] or [{}]
        return min(ways, key=lambda way: float(np.median([logs.get(way, math.inf) for logs in common])))

    def equally_fast(self, group: int) -> list[int]:
        """Return a group's other ways whose times differ from the fastest way's by less than the effect."""
        fastest = self.fastest(group)
        ratios = {way: self.ratio(way, fastest) for way in self.remaining(group) if way != fastest}
        return [
            way
            for way, ratio in ratios.items()
            if abs(ratio.log) + self._width(ratio) < math.log1p(self.effect)
        ]

    def is_decided(self, group: int) -> bool:
        """Return whether each way of a group but the fastest is known to be slower or equally fast."""
        return len(self.equally_fast(group)) == len(self.remaining(group)) - 1

    def ratio(self, way: int, base: int) -> Ratio:
        """Return the ratio of two ways in the blocks that timed both."""
        return ratio_in(self._blocks, way, base)

    def log_seconds(self, way: int) -> list[float]:
        """Return the log seconds of a way in each block that timed it."""
        return [logs[way] for logs in self._blocks if way in logs]

    def _width(self, ratio: Ratio) -> float:
        return ratio.half_width(LEVEL, self.ways * len(ANALYSES) * len(self.groups))


def ratio_in(blocks: Sequence[Mapping[int, float]], way: int, base: int, between: float = 0.0) -> Ratio:
    """Return the ratio of two ways in the blocks that timed both; `between` as in `ratio_of`."""
    logs = [block[way] - block[base] for block in blocks if way in block and base in block]
    return ratio_of(logs, 0.0 if way == base else between)


def ratio_of(logs: Sequence[float], between: float = 0.0) -> Ratio:
    """Return the geometric mean of ratios, given the log ratio in each block.

    `between`, the standard deviation between processes, is added to the standard error in quadrature.
    """
    count = len(logs)
    if count < 2:  # noqa: PLR2004 - no variance
        return Ratio(math.exp(logs[0]) if logs else math.nan, math.inf, count)
    error = math.hypot(float(np.std(logs, ddof=1)) / math.sqrt(count), between)
    return Ratio(math.exp(np.mean(logs)), error, count)
