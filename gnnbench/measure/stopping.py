"""When to stop measuring, and on what to spend the effort; sees numbers, never a clock."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .estimate import Estimate, block_values, estimate

MAX_ROUNDS = 10
"""Of a block: a median of more of them hardly moves."""

_MIN_BLOCKS = 80
"""For an interval of the location that is of use; fewer where a round is too slow for that."""

_GROWTH = 1.25
"""The number of blocks grows by this between two looks: looking at every one would stop at a lucky one."""

StopReason = Literal["precision", "time", "rounds"]


def allocate(variances: Sequence[float], costs: Sequence[float]) -> list[float]:
    """Divide the effort among nested levels, as processes, layouts and rounds are.

    For the smallest variance of the mean at a given cost, each unit of a level should have
    sqrt(v_inner / v_outer * c_outer / c_inner) units of the level inside it (Cochran, Sampling Techniques,
    10.6).

    Args:
        variances: what each level adds, the outermost first, none negative.
        costs: of one more unit of each level, without the units inside it; positive.

    Returns:
        the number of units of each inner level in one of the level around it: one fewer than levels. At least
        1; infinite where only the inner level varies.
    """
    found = []
    for outer in range(len(variances) - 1):
        ratio = costs[outer] / costs[outer + 1]
        if variances[outer] > 0:
            found.append(max(1.0, math.sqrt(variances[outer + 1] / variances[outer] * ratio)))
        else:
            found.append(math.inf if variances[outer + 1] > 0 else 1.0)
    return found


def variance_components(blocks: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return what layouts and rounds add to the variance of a round's logarithm.

    One-way analysis of variance (Searle, Casella and McCulloch, Variance Components, 3.6) of blocks with at
    least two rounds; a negative component counts as none.
    """
    logs = [np.log(block) for block in blocks if len(block) > 1]
    if len(logs) < 2:  # noqa: PLR2004 - one block does not vary
        return 0.0, 0.0
    within = float(np.mean([block.var(ddof=1) for block in logs]))
    size = float(np.mean([len(block) for block in logs]))
    between = float(np.var([block.mean() for block in logs], ddof=1)) - within / size
    return max(0.0, between), within


def rounds_per_block(
    pilot: Sequence[Sequence[float]], round_seconds: float, renewal_seconds: float, max_seconds: float
) -> int:
    """Choose how many rounds to time on one layout before the next.

    Args:
        pilot: blocks measured so far.
        round_seconds: what a round costs.
        renewal_seconds: what copying the inputs and the first, untimed call cost.
        max_seconds: to spend in all, on enough blocks for an interval.
    """
    wanted = allocate(variance_components(pilot), (renewal_seconds, round_seconds))[0]
    affordable = (max_seconds / _MIN_BLOCKS - renewal_seconds) / round_seconds
    return round(max(min(wanted, affordable, MAX_ROUNDS), 1))


@dataclass
class Stopping:
    """Decides after each block whether it was the last."""

    precision: float
    """Half-width of the location's interval to reach, as a fraction of the location."""
    max_seconds: float
    """To spend on the benchmark, copying its inputs included."""
    min_rounds: int
    """To time in any case."""
    _next_look: int = 8

    def reason(
        self, blocks: Sequence[Sequence[float]], rounds: int, elapsed_seconds: float
    ) -> StopReason | None:
        """Say why to stop now; None: go on.

        Args:
            blocks: so far.
            rounds: in all of them.
            elapsed_seconds: since the benchmark began.
        """
        if rounds < self.min_rounds:
            return None
        if not elapsed_seconds < self.max_seconds:  # written so that NaN ends it
            return "time"
        if len(blocks) >= self._next_look:
            self._next_look = math.ceil(len(blocks) * _GROWTH)
            if self.estimate(blocks).half_width <= self.precision:
                return "precision"
        return None

    def estimate(self, blocks: Sequence[Sequence[float]]) -> Estimate:
        """Return the location as far as it is known."""
        return estimate(block_values(blocks))
