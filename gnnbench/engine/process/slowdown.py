"""Slows down one side on purpose (`--plant`), to see whether the comparison detects the slowdown."""

import sys
from dataclasses import replace
from functools import cached_property
from itertools import repeat

from ..ground.cpu import RealTime
from ..measure.clock import Block, Call, Clock
from .variants.variant import Prepared

VARIABLE = "GNNBENCH_SLOWDOWN"
"""The planted slowdown of a process, as a fraction of each round's time."""
_EMPTY_ROUNDS = 20
"""Number of empty rounds that are timed; the shortest of them counts."""


def plant(side: Prepared, share: float) -> Prepared:
    """Return a copy of a side that slows its processes down, by the given fraction of each round's time."""
    return replace(side, environment={**side.environment, VARIABLE: str(share)})


class Slowed(Clock):
    """A clock that makes each round longer by a busy wait, in proportion to the time of the round.

    There is one wait in a round, not in each call, because reading the time takes longer than short calls.
    """

    def __init__(self, clock: Clock, share: float) -> None:
        self.clock, self.share = clock, share
        self.name, self.resolution_seconds = clock.name, clock.resolution_seconds

    def block(self, call: Call, rounds: int, iterations: int) -> Block:
        """Time rounds. The wrapped clock sees a round as one call, which makes all iterations, then waits."""
        function, args, kwargs = call
        # How long calls on a GPU took is known only after synchronising. The wrapped clock then synchronises
        # again, which takes as long as an empty round.
        synchronize = sys.modules["torch"].cuda.synchronize if self.name == "cuda" else None
        second_wait = self._empty_round_seconds if synchronize else 0.0

        def slow_round() -> None:
            start = RealTime.seconds()
            for _ in repeat(None, iterations):
                function(*args, **kwargs)
            if synchronize:
                synchronize()
            now = RealTime.seconds()
            end = now + self.share * (now - start) - second_wait
            while RealTime.seconds() < end:
                pass

        return self.clock.block(Call(slow_round, (), {}), rounds, 1)

    @cached_property
    def _empty_round_seconds(self) -> float:
        return min(self.clock.block(Call(int, (), {}), _EMPTY_ROUNDS, 1).seconds)
