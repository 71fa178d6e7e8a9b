"""What times a call: the clock of the processor, of the GPU, or a simulated one.

The clock follows the inputs: `clocks.clock_for` picks it by the devices of their tensors.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple, Protocol

_STEPS = 20
"""Enough for the smallest step to be among them."""
_TRIES = 100_000
"""Readings after which a clock that shows the same time is taken to stand still."""


class ClockError(Exception):
    """A clock cannot time what it was given; the message says why and what to do."""


class Call(NamedTuple):
    """A function with its inputs."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def __call__(self) -> Any:
        """Call it."""
        return self.function(*self.args, **self.kwargs)


class Block(NamedTuple):
    """Rounds timed one after another on the same buffers."""

    seconds: list[float]
    """Of each round, all of its iterations together: as a user waits for it."""
    device_seconds: list[float] | None = None
    """The same as the GPU counts it; None elsewhere."""


class Clock(Protocol):
    """Times rounds of a call."""

    @property
    def name(self) -> str:
        """What files call it."""

    @property
    def resolution_seconds(self) -> float:
        """The smallest step that it shows."""

    def now(self) -> float:
        """Return seconds since some moment: what budgets are counted in."""

    def block(self, call: Call, rounds: int, iterations: int) -> Block:
        """Time some rounds of so many iterations each."""

    def renewed(self) -> None:
        """Take note that the inputs of the next block lie elsewhere."""

    def check(self, call: Call) -> None:
        """Call, and see that it does what this clock can time.

        Raises:
            ClockError: it does not.
        """


@dataclass(frozen=True)
class HostClock:
    """Reads a timer of the host before and after each round; right for kernels on the CPU."""

    timer: Callable[[], float]
    """Seconds, increasing."""
    resolution_seconds: float
    name: str = "perf_counter"

    @classmethod
    def of(cls, timer: Callable[[], float] = time.perf_counter) -> "HostClock":
        """Find a timer's resolution.

        Raises:
            ClockError: the timer stands still.
        """
        name = getattr(timer, "__name__", type(timer).__name__)
        steps = []
        previous = timer()
        for _ in range(_TRIES):
            reading = timer()
            if reading > previous:
                steps.append(reading - previous)
                if len(steps) == _STEPS:
                    break
            previous = reading
        if not steps:
            raise ClockError(f"the timer {name} showed the same time {_TRIES:,} times: use time.perf_counter")
        return cls(timer, min(steps), name)

    def now(self) -> float:
        """Return the monotonic clock: a timer may leave out time that passed."""
        return time.monotonic()

    def block(self, call: Call, rounds: int, iterations: int) -> Block:
        """Time each round by two readings around a bare loop."""
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

    def renewed(self) -> None:
        """Do nothing: a real clock does not care."""

    def check(self, call: Call) -> None:
        """Call: whatever a host does, its clock sees."""
        call()
