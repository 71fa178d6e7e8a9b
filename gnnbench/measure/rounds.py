"""How many calls make a round."""

import math
from collections.abc import Callable

from .clock import Clock, ClockError

ROUND_SECONDS = 5e-4
"""Usual length of a round: reading the clock takes a negligible part of it, and files stay small."""
_RESOLUTIONS = 100
"""Shortest round, in steps of its clock."""
_MAX_ITERATIONS = 10_000_000
_MAX_GROWTH = 10.0


def wanted_seconds(clock: Clock, least_seconds: float, usual_seconds: float = ROUND_SECONDS) -> float:
    """Return how long a round should take at least."""
    return max(least_seconds, usual_seconds, _RESOLUTIONS * clock.resolution_seconds)


def calibrated_iterations(
    time_round: Callable[[int], float], iterations: int, wanted: float, clock: Clock
) -> int:
    """Find how many iterations make a round of about the wanted length.

    Args:
        time_round: times one round of some iterations; returns its seconds.
        iterations: the first guess.
        wanted: seconds. A round of half this length is accepted.
        clock: the clock in use, for the message.

    Raises:
        ClockError: the clock shows no time for the largest number of iterations.
    """
    while True:
        iterations = min(iterations, _MAX_ITERATIONS)
        seconds = time_round(iterations)
        if seconds >= wanted / 2 or (iterations == _MAX_ITERATIONS and seconds > 0):
            return iterations
        if iterations == _MAX_ITERATIONS:
            raise ClockError(
                f"{iterations:,} calls are too short for the resolution of {clock.name}: "
                "do more work in one call, or choose a finer clock with --benchmark-timer"
            )
        # A single reading may be far too short, so grow by a limited factor.
        growth = min(_MAX_GROWTH, wanted / seconds) if seconds > 0 else _MAX_GROWTH
        iterations = math.ceil(iterations * max(growth, 1.2))
