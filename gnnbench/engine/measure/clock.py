"""The interface of clocks, the host's clock, how many calls a round has, and how base and head alternate.

A round is one or more calls between two readings of a clock. A block is a few rounds on the same buffers.
`layouts.clock_for` chooses the clock for the devices on which the input tensors are.
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
"""A timer's resolution is the smallest of this many steps between unequal readings."""
_READINGS = 100_000
"""A timer that does not advance in this many readings is refused."""

ROUND_SECONDS = 5e-4
"""Usual length of a round: long enough that reading the clock hardly matters, and that files stay small."""
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
        """Merge blocks into one, with all rounds, and with the medians of GPU times and of clock rates."""
        seconds = [second for block in blocks for second in block.seconds]
        gpu_times = [block.device_seconds for block in blocks if block.device_seconds is not None]
        rates = [block.device_hertz for block in blocks if block.device_hertz is not None]
        return cls(seconds, median(gpu_times) if gpu_times else None, median(rates) if rates else None)


class Clock(ABC):
    """Times rounds of a call on one device."""

    name: str
    resolution_seconds: float
    """Smallest difference between two readings."""
    times_device = False
    """Whether each block also has a GPU time, measured between CUDA events."""

    def now(self) -> float:
        """Return a monotonic time in seconds, for time budgets."""
        return RealTime.seconds()

    @abstractmethod
    def block(self, call: Call, rounds: int, iterations: int) -> Block:
        """Time rounds of `iterations` calls each."""

    def launches(self, call: Call) -> tuple[str, ...]:  # noqa: ARG002 - a GPU's clock needs it
        """Return what a call launches on a GPU, in order; empty if unknown. May run the call to find out."""
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
    """Returns the time in seconds. It never decreases."""
    resolution_seconds: float
    name: str = "perf_counter"

    @classmethod
    def of(cls, timer: Callable[[], float] = RealTime.seconds) -> "HostClock":
        """Return a clock that reads a timer, after measuring the resolution of the timer."""
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
    """Return a round's length: the larger of two times, but at least 100 times the clock's resolution."""
    return max(least_seconds, usual_seconds, _RESOLUTIONS * clock.resolution_seconds)


def calibrated_iterations(
    time_round: Callable[[int], float], iterations: int, round_seconds: float, clock: Clock
) -> int:
    """Return how many iterations a round needs to take about `round_seconds`; half of this time is enough.

    `time_round`: times one round with a given number of iterations. Raises ClockError if the clock does not
    advance even during _MAX_ITERATIONS.
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
    """Call `turn`, which times a block of each side, for some seconds, and at least once.

    It is called at least FEWEST_BLOCKS times, unless that would take until `now` returns `end_seconds`.
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
