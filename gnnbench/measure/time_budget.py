"""The time of a session that its benchmarks share."""

import statistics
from dataclasses import dataclass, field

LEAST_SECONDS = 0.1
"""With less, rounds would be too short."""


@dataclass
class TimeBudget:
    """Divides the time of a session among its benchmarks, which run one after the other.

    Each gets an equal part of what is left, without what benchmarks usually take besides their timing. One
    that is precise early leaves more to the others. A slow one, whose fewest rounds take longer than its
    part, leaves less.
    """

    seconds: float
    """For all benchmarks: set-up, check, timing and inspection."""
    benchmarks: int = 0
    """How many have not begun."""
    _other_seconds: list[float] = field(default_factory=list)
    """What each of the finished ones took besides its timing."""

    def next_seconds(self) -> float:
        """Return the seconds for timing the next benchmark, at least LEAST_SECONDS."""
        other = statistics.median(self._other_seconds) if self._other_seconds else 0.0  # one may compile
        share = self.seconds / max(1, self.benchmarks)
        self.benchmarks -= 1
        return max(LEAST_SECONDS, share - other)

    def spend(self, seconds: float, timing_seconds: float) -> None:
        """Subtract what a benchmark took.

        Args:
            seconds: from its set-up to its teardown.
            timing_seconds: the part of them in which it was timed.
        """
        self.seconds -= seconds
        self._other_seconds.append(seconds - timing_seconds)
