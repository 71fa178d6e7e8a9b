"""How long the sides of a pair take turns."""

from collections.abc import Callable

FEWEST_BLOCKS = 5
"""With fewer the noise within a visit is not estimated."""


def alternate(turn: Callable[[], None], now: Callable[[], float], seconds: float, end_seconds: float) -> None:
    """Repeat a turn for some seconds, at least once, and as often as the noise needs if that ends in time.

    Args:
        end_seconds: the time of `now` at which too few turns are enough.
    """
    start, passed, turns = now(), 0.0, 0
    while (
        not turns
        or passed < seconds
        or (turns < FEWEST_BLOCKS and start + passed * (turns + 1) / turns < end_seconds)
    ):
        turn()
        turns += 1
        passed = now() - start
