"""The interface of clocks, the host's clock, the number of calls in a round, and turns of two sides.

A round is one or more calls between two readings of a clock. A block is a few rounds on the same buffers.
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
"""Number of differences between readings from which the resolution of a timer is estimated."""
_READINGS = 100_000
"""A timer that does not advance in this many readings is refused."""

ROUND_SECONDS = 5e-4
"""Usual length of a round: reading the clock takes a negligible part of it, and files stay small."""
_RESOLUTIONS = 100
"""Shortest round, as a multiple of the clock's resolution."""
_MAX_ITERATIONS = 10_000_000
_MAX_GROWTH = 10.0

SHORTEST_GPU_NS = 20_000
"""A shorter GPU time is mostly the gap between two kernels, and events resolve only 0.5 µs."""

FEWEST_BLOCKS = 5
"""With fewer blocks, the noise of a process is not estimated."""


class ClockError(Exception):
    """A clock cannot time a call. The message says why, and what to do."""


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
        """Return one block with the rounds of several, and with the medians of the GPU's values."""
        seconds = [second for block in blocks for second in block.seconds]
        device = [block.device_seconds for block in blocks if block.device_seconds is not None]
        rates = [block.device_hertz for block in blocks if block.device_hertz is not None]
        return cls(seconds, median(device) if device else None, median(rates) if rates else None)


class Clock(ABC):
    """Times rounds of a call on one device."""

    name: str
    resolution_seconds: float
    """Smallest difference between two readings."""
    times_device = False
    """Whether blocks have the GPU's own time, measured between CUDA events."""

    def now(self) -> float:
        """Return monotonic seconds, by which time budgets are measured."""
        return RealTime.seconds()

    @abstractmethod
    def block(self, call: Call, rounds: int, iterations: int) -> Block:
        """Time rounds of `iterations` calls each."""

    def launches(self, call: Call) -> tuple[str, ...]:  # noqa: ARG002 - a GPU's clock needs it
        """Return the launches of a call on a GPU, in order; empty if unknown. May call the function."""
        return ()

    def inputs_moved(self) -> None:  # noqa: B027 - only a simulated clock needs it
        """Tell the clock that the inputs of the next block are at other addresses."""

    def check(self, call: Call) -> None:
        """Call the function once, and check that this clock can time it."""
        call()


@dataclass(frozen=True)
class HostClock(Clock):
    """Reads a timer of the host before and after each round; for calls on the CPU."""

    timer: Callable[[], float]
    """Returns increasing seconds."""
    resolution_seconds: float
    name: str = "perf_counter"

    @classmethod
    def of(cls, timer: Callable[[], float] = RealTime.seconds) -> "HostClock":
        """Measure the resolution of a timer, and return a clock for it."""
        name = getattr(timer, "__name__", type(timer).__name__)
        readings = pairwise(timer() for _ in range(_READINGS))
        steps = list(islice((after - before for before, after in readings if after > before), _STEPS))
        if not steps:
            raise ClockError(
                f"the timer {name} did not advance in {_READINGS:,} readings; "
                "choose another --benchmark-timer"
            )
        return cls(timer, min(steps), name)

    def block(self, call: Call, rounds: int, iterations: int) -> Block:
        """Time each round by two readings of the timer around a plain loop."""
        timer = self.timer
        function, args, kwargs = call
        seconds = []
        if iterations == 1:  # a loop of one call would add 80 ns to each round
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
    """Return how long a round should take: the larger of both times, or 100 times the clock's resolution."""
    return max(least_seconds, usual_seconds, _RESOLUTIONS * clock.resolution_seconds)


def calibrated_iterations(
    time_round: Callable[[int], float], iterations: int, round_seconds: float, clock: Clock
) -> int:
    """Return how many iterations make a round of about `round_seconds`, or of at least half of this time.

    `time_round` times one round of a given number of iterations. Raises ClockError if even
    _MAX_ITERATIONS take no time by the clock.
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
    """Call `turn` repeatedly for some seconds: once in any case, and FEWEST_BLOCKS times if there is time.

    `end_seconds`: the reading of `now` after which fewer turns are enough.
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
