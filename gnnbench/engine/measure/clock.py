"""The host's clock, the interface of all clocks, how many calls make a round, and how long sides alternate.

`layouts.clock_for` chooses the clock by the devices of the inputs' tensors.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, repeat
from statistics import median
from typing import Any, NamedTuple

from ..ground.cpu import RealTime

_STEPS = 20
"""Number of steps from which the resolution of a timer is estimated."""
_TRIES = 100_000
"""A timer that does not advance in this many readings is refused."""

ROUND_SECONDS = 5e-4
"""Usual length of a round: reading the clock takes a negligible part of it, and files stay small."""
_RESOLUTIONS = 100
"""Shortest round, in steps of its clock."""
_MAX_ITERATIONS = 10_000_000
_MAX_GROWTH = 10.0

SHORTEST_GPU_NS = 20_000
"""A shorter GPU time is mostly the gap between two kernels, and events resolve only 0.5 µs."""

FEWEST_BLOCKS = 5
"""With fewer blocks, the noise within a visit is not estimated."""


class ClockError(Exception):
    """A clock cannot time a call; the message has the reason and what to do."""


class Call(NamedTuple):
    """A function with its inputs."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def __call__(self) -> Any:
        """Call the function and return its result."""
        return self.function(*self.args, **self.kwargs)


class Block(NamedTuple):
    """Rounds timed one after another on the same buffers."""

    seconds: list[float]
    """Wall time of each round, for all of its iterations together."""
    device_seconds: float | None = None
    """Time of one more round between two CUDA events; None on a CPU."""
    device_hertz: float | None = None
    """The GPU's clock rate before that round; None on a CPU."""

    @classmethod
    def of(cls, blocks: "Sequence[Block]") -> "Block":
        """Join blocks; the device's time is their median."""
        seconds = [second for block in blocks for second in block.seconds]
        device = [block.device_seconds for block in blocks if block.device_seconds is not None]
        rates = [block.device_hertz for block in blocks if block.device_hertz is not None]
        return cls(seconds, median(device) if device else None, median(rates) if rates else None)


class Clock(ABC):
    """Times rounds of a call."""

    name: str
    resolution_seconds: float
    """Smallest difference between two readings."""
    times_device = False
    """Whether blocks have the GPU's own time."""

    def now(self) -> float:
        """Return monotonic seconds, in which budgets are measured."""
        return RealTime.seconds()

    @abstractmethod
    def block(self, call: Call, rounds: int, iterations: int) -> Block:
        """Time rounds; each calls the function `iterations` times."""

    def launches(self, call: Call) -> tuple[str, ...]:  # noqa: ARG002 - a GPU's clock needs it
        """Call the function, and return what it launches on a GPU, in order; empty if that is not known."""
        return ()

    def renewed(self) -> None:  # noqa: B027 - only a simulated clock needs it
        """Notify the clock that the inputs of the next block are at other addresses."""

    def check(self, call: Call) -> None:
        """Call the function once, and check that this clock can time it."""
        call()


@dataclass(frozen=True)
class HostClock(Clock):
    """Reads a timer of the host before and after each round; for kernels on the CPU."""

    timer: Callable[[], float]
    """Returns increasing seconds."""
    resolution_seconds: float
    name: str = "perf_counter"

    @classmethod
    def of(cls, timer: Callable[[], float] = RealTime.seconds) -> "HostClock":
        """Return a clock with the measured resolution of the timer."""
        name = getattr(timer, "__name__", type(timer).__name__)
        readings = pairwise(timer() for _ in range(_TRIES))
        steps = list(islice((after - before for before, after in readings if after > before), _STEPS))
        if not steps:
            raise ClockError(
                f"the timer {name} did not advance in {_TRIES:,} readings; choose another --benchmark-timer"
            )
        return cls(timer, min(steps), name)

    def block(self, call: Call, rounds: int, iterations: int) -> Block:
        """Time each round by two readings around a plain loop."""
        timer = self.timer
        function, args, kwargs = call
        seconds = []
        if iterations == 1:
            for _ in repeat(None, rounds):
                start = timer()
                function(*args, **kwargs)
                end = timer()
                seconds.append(end - start)
        else:
            for _ in repeat(None, rounds):
                start = timer()
                for _ in repeat(None, iterations):
                    function(*args, **kwargs)
                end = timer()
                seconds.append(end - start)
        return Block(seconds)


def wanted_seconds(clock: Clock, least_seconds: float, usual_seconds: float = ROUND_SECONDS) -> float:
    """Return the shortest time that a round should take."""
    return max(least_seconds, usual_seconds, _RESOLUTIONS * clock.resolution_seconds)


def calibrated_iterations(
    time_round: Callable[[int], float], iterations: int, round_seconds: float, clock: Clock
) -> int:
    """Find how many iterations make a round of about `round_seconds`; half of this time is accepted.

    `time_round` times one round of a given number of iterations. Raises ClockError if the clock shows no time
    even for the most iterations.
    """
    while True:
        iterations = min(iterations, _MAX_ITERATIONS)
        seconds = time_round(iterations)
        if seconds >= round_seconds / 2 or (iterations == _MAX_ITERATIONS and seconds > 0):
            return iterations
        if iterations == _MAX_ITERATIONS:
            raise ClockError(
                f"{iterations:,} calls are too short for the resolution of {clock.name}: "
                "do more work in one call, or choose a finer clock with --benchmark-timer"
            )
        # A single reading may be far too short, so grow by a limited factor.
        growth = min(_MAX_GROWTH, round_seconds / seconds) if seconds > 0 else _MAX_GROWTH
        iterations = math.ceil(iterations * max(growth, 1.2))


def alternate(turn: Callable[[], None], now: Callable[[], float], seconds: float, end_seconds: float) -> None:
    """Repeat a turn for some seconds, at least once, and FEWEST_BLOCKS times if these end in time.

    `end_seconds`: the time by `now` after which fewer turns are enough.
    """
    start, elapsed, turns = now(), 0.0, 0
    while (
        not turns
        or elapsed < seconds
        or (turns < FEWEST_BLOCKS and start + elapsed * (turns + 1) / turns < end_seconds)
    ):
        turn()
        turns += 1
        elapsed = now() - start
