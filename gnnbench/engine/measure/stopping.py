"""Decides when to stop measuring a benchmark, its share of the session, and how many rounds a layout gets."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from .estimate import JUDGED_LEVEL, block_values, estimate

MAX_ROUNDS = 10
"""Most rounds of a block: more hardly change its median."""

_MIN_BLOCKS = 80
"""Blocks that are needed for a useful interval; slow benchmarks get fewer."""

_FEWEST_BLOCKS = 51
"""Precision is checked from this number of blocks on. Fewer often miss a mode of few layouts: with a share of
10 %, 20 % of the measurements of 15 blocks miss it, but 0.5 % of those of 51."""

_GROWTH = 1.25
"""Precision is checked when the number of blocks has grown by this factor: checking it after each block would
stop at a lucky one."""

LEAST_SECONDS = 0.1
"""With less time, rounds would be too short."""

StopReason = Literal["precision", "time", "rounds"]


def variance_components(blocks: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the variance components of layouts and of rounds, for the logarithm of a round's time.

    This is a one-way analysis of variance (Searle, Casella and McCulloch, Variance Components, 3.6) of the
    blocks with at least two rounds. A negative component is set to 0.
    """
    logs = [np.log(block) for block in blocks if len(block) > 1]
    if len(logs) < 2:  # noqa: PLR2004 - no variance between blocks
        return 0.0, 0.0
    within = float(np.mean([block.var(ddof=1) for block in logs]))
    size = float(np.mean([len(block) for block in logs]))
    between = float(np.var([block.mean() for block in logs], ddof=1)) - within / size
    return max(0.0, between), within


def rounds_per_block(
    pilot: Sequence[Sequence[float]], round_seconds: float, renewal_seconds: float, max_seconds: float
) -> int:
    """Choose how many rounds to time on each layout.

    The variance of the mean at a given cost is smallest with sqrt(v_rounds / v_layouts * c_layout / c_round)
    rounds on each layout (Cochran, Sampling Techniques, 10.6).

    `max_seconds`: budget, which must suffice for enough blocks.
    """
    between, within = variance_components(pilot)
    if between:
        optimum = math.sqrt(within / between * renewal_seconds / round_seconds)
    else:
        optimum = MAX_ROUNDS if within else 1
    limit = (max_seconds / _MIN_BLOCKS - renewal_seconds) / round_seconds
    return round(max(min(optimum, limit, MAX_ROUNDS), 1))


@dataclass
class Stopping:
    """Decides after each block whether it was the last."""

    precision: float
    """Stop at this half-width of the interval, as a fraction of the estimate."""
    max_seconds: float
    """Budget of the benchmark, with copying its inputs."""
    min_rounds: int
    """Rounds to time in any case."""
    _next_check: int = _FEWEST_BLOCKS

    def reason(self, blocks: Sequence[Sequence[float]], elapsed_seconds: float) -> StopReason | None:
        """Return why to stop now. Returns None to go on."""
        if sum(map(len, blocks)) < self.min_rounds:
            return None
        if not elapsed_seconds < self.max_seconds:  # also stops if it is NaN
            return "time"
        if len(blocks) >= self._next_check:
            self._next_check = math.ceil(len(blocks) * _GROWTH)
            if estimate(block_values(blocks), JUDGED_LEVEL).half_width <= self.precision:
                return "precision"
        return None


@dataclass
class TimeBudget:
    """Divides the time of a session among its benchmarks, which run one after the other.

    Each benchmark gets an equal part of the remaining time, minus what benchmarks usually take in addition to
    their timing. A benchmark that is precise early leaves more time to the others; a slow one, whose fewest
    rounds take longer than its part, leaves less.
    """

    seconds: float
    """For all benchmarks: set-up, check, timing and inspection."""
    benchmarks: int = 0
    """Number of benchmarks that have not begun."""
    _other_seconds: list[float] = field(default_factory=list)
    """Time that each finished benchmark took in addition to its timing."""

    def next_seconds(self) -> float:
        """Return the seconds for timing the next benchmark, at least LEAST_SECONDS."""
        other = statistics.median(self._other_seconds) if self._other_seconds else 0.0  # one may compile
        share = self.seconds / max(1, self.benchmarks)
        self.benchmarks -= 1
        return max(LEAST_SECONDS, share - other)

    def spend(self, seconds: float, timing_seconds: float) -> None:
        """Subtract the time of a benchmark."""
        self.seconds -= seconds
        self._other_seconds.append(seconds - timing_seconds)
