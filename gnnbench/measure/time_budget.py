"""The time of a session that its benchmarks share."""

from dataclasses import dataclass

LEAST_SECONDS = 0.1
"""With less, rounds would be too short."""


@dataclass
class TimeBudget:
    """Divides the time of a session among its benchmarks, which run one after the other.

    Each gets an equal part of what is left, without what a benchmark takes besides its timing. One that is
    precise early leaves more to the others. A slow one, whose fewest rounds take longer than its part, leaves
    less.
    """

    seconds: float
    """For all benchmarks: set-up, check, timing and inspection."""
    benchmarks: int = 0
    """How many have not begun."""
    _done: int = 0
    _other_seconds: float = 0.0
    """What the finished ones took besides their timing."""

    def next_seconds(self) -> float:
        """Return the seconds for timing the next benchmark, at least LEAST_SECONDS."""
        other = self._other_seconds / self._done if self._done else 0.0
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
        self._done += 1
        self._other_seconds += seconds - timing_seconds
