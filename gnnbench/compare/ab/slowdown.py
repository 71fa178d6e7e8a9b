"""A slowdown that is planted in a side, to see whether it is found."""

import os
import sys
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from time import perf_counter

from ...measure.clock import Block, Call, Clock

VARIABLE = "GNNBENCH_SLOWDOWN"
_EMPTY_ROUNDS = 20
"""Enough for the shortest to be one that nothing disturbed."""


def asked() -> float:
    """Return the part of its own time that each round is to take longer; 0 where none is asked for.

    Raises:
        ValueError: the variable's value is none; says so in a line.
    """
    text = os.environ.get(VARIABLE) or "0"
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError(f"{VARIABLE}='{text}' must be a fraction between 0 and 1, as in 0.05")
    return share


@dataclass(frozen=True)
class Slowed:
    """A clock whose rounds end with a wait, in which the processor is kept busy.

    It lasts a part of what this very round took, so that a process or a layout that is slow is slowed by as
    much more, as by a slower kernel. It is taken once a round: after each call of less than a microsecond,
    looking at the time alone would take longer.
    """

    clock: Clock
    share: float

    @property
    def name(self) -> str:
        """Return the clock's."""
        return self.clock.name

    @property
    def resolution_seconds(self) -> float:
        """Return the clock's."""
        return self.clock.resolution_seconds

    def now(self) -> float:
        """Return the clock's."""
        return self.clock.now()

    def block(self, call: Call, rounds: int, iterations: int) -> Block:
        """Time rounds, each a call to the clock that makes all of its own calls and waits."""
        function, args, kwargs = call
        # Only an idle GPU has done what it was asked to. The clock waits for it again: as in an empty round.
        idle = sys.modules["torch"].cuda.synchronize if self.name == "cuda" else None
        again_seconds = self._empty_round_seconds if idle else 0.0

        def one() -> None:
            start = perf_counter()
            for _ in repeat(None, iterations):
                function(*args, **kwargs)
            if idle:
                idle()
            now = perf_counter()
            end = now + self.share * (now - start) - again_seconds
            while perf_counter() < end:
                pass

        return self.clock.block(Call(one, (), {}), rounds, 1)

    @cached_property
    def _empty_round_seconds(self) -> float:
        return min(self.clock.block(Call(int, (), {}), _EMPTY_ROUNDS, 1).seconds)

    def renewed(self) -> None:
        """Tell the clock."""
        self.clock.renewed()

    def check(self, call: Call) -> None:
        """Have the clock see whether it can time the call."""
        self.clock.check(call)
