"""Plants a slowdown in one side, to see that it is found."""

import os
import sys
from dataclasses import replace
from functools import cached_property
from itertools import repeat

from ..ground.cpu import RealTime
from ..measure.clock import Block, Call, Clock
from .variants.variant import Prepared

VARIABLE = "GNNBENCH_SLOWDOWN"
_EMPTY_ROUNDS = 20
"""Empty rounds to time; the shortest is taken as undisturbed."""


def asked() -> float:
    """Return the slowdown of this process as a fraction of each round's time; 0: none."""
    return float(os.environ.get(VARIABLE) or 0)


def planted(side: Prepared, share: float) -> Prepared:
    """Return a side whose processes have a slowdown, a fraction of each round's time."""
    return replace(side, environment={**side.environment, VARIABLE: str(share)})


class Slowed(Clock):
    """A clock whose rounds end with a busy wait.

    The wait is proportional to the round's own time, as if the kernel were slower: slow processes and layouts
    wait longer. There is one wait per round, because reading the time takes longer than calls below 1 µs.
    """

    def __init__(self, clock: Clock, share: float) -> None:
        self.clock, self.share = clock, share
        self.name, self.resolution_seconds = clock.name, clock.resolution_seconds

    def block(self, call: Call, rounds: int, iterations: int) -> Block:
        """Time rounds; the wrapped clock sees each as one call, which makes all iterations and waits."""
        function, args, kwargs = call
        # Wait until the GPU is idle, to know how long the calls took. The clock then synchronises once more,
        # which takes as long as an empty round.
        idle = sys.modules["torch"].cuda.synchronize if self.name == "cuda" else None
        again_seconds = self._empty_round_seconds if idle else 0.0

        def one() -> None:
            start = RealTime.seconds()
            for _ in repeat(None, iterations):
                function(*args, **kwargs)
            if idle:
                idle()
            now = RealTime.seconds()
            end = now + self.share * (now - start) - again_seconds
            while RealTime.seconds() < end:
                pass

        return self.clock.block(Call(one, (), {}), rounds, 1)

    @cached_property
    def _empty_round_seconds(self) -> float:
        return min(self.clock.block(Call(int, (), {}), _EMPTY_ROUNDS, 1).seconds)

    def check(self, call: Call) -> None:
        """Let the wrapped clock check that it can time the call."""
        self.clock.check(call)
