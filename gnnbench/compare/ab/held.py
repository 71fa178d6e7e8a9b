"""A benchmark that waits inside its call, and times blocks of rounds as it is told to."""

import math
import statistics
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any, Protocol

from ...cpu import Placement
from ...measure.clock import Block, Clock, ClockError
from ...measure.garbage import collector_paused
from ...measure.layouts import Layouts
from ...measure.pedantic import Pedantic

_ROUND_SECONDS = 5e-4
"""Of a round at least, so that reading the clock vanishes in it."""
_RESOLUTIONS = 100
"""A round is at least so many steps of its clock."""
_SLOW_SECONDS = 0.1
"""A round that takes longer is not made again to see it warm."""
_TRIES = 4
_MAX_ITERATIONS = 10_000_000


class Timed(Protocol):
    """What is timed."""

    once: bool
    """Whether a process can do it but once."""
    iterations: int | None
    """Of a round, where the author says it."""

    def renew(self) -> None:
        """Lay the inputs out anew, where they can be."""

    def block(self, rounds: int, iterations: int) -> list[float]:
        """Time some rounds; return the seconds of each."""

    def count(self) -> dict[str, int] | None:
        """Return how often one call does what, by its name; None where it cannot be seen."""


class Plain:
    """`benchmark(function, ...)`."""

    once = False
    iterations: int | None = None

    def __init__(self, layouts: Layouts, clock: Clock, *, in_place: bool, disable_gc: bool) -> None:
        """Time on copies of the inputs, unless they are to stay in place."""
        self._layouts, self._clock, self._disable_gc = layouts, clock, disable_gc
        self._renewing = not (in_place or layouts.why_in_place())

    def renew(self) -> None:
        """Copy the inputs to another place."""
        if self._renewing:
            self._layouts.renew()
            self._clock.renewed()

    def block(self, rounds: int, iterations: int) -> list[float]:
        """Time rounds on the same copies."""
        with collector_paused() if self._disable_gc else nullcontext():
            # Held nowhere else: a copy that its layouts give up is to be free at once.
            return self._clock.block(self._layouts.current, rounds, iterations).seconds

    def count(self) -> dict[str, int] | None:
        """Count by PyTorch's dispatcher, if there are tensors among the inputs."""
        if not self._layouts.devices:
            return None
        from ...measure.counters import count

        self.renew()
        call: Callable[[], object] = self._layouts.current.__call__
        found = count(call, "cuda" if "cuda" in self._layouts.devices else "cpu")
        return {name: number for counts in found.counts.values() for name, number in counts.items()}


class Repeated:
    """`benchmark.pedantic` of several rounds: its author's rounds, as often as they are asked for."""

    once = False

    def __init__(
        self, asked: Pedantic, layouts: Layouts, clock: Clock, *, in_place: bool, disable_gc: bool
    ) -> None:
        """Make the calls before the first round that the author wants."""
        self._asked, self._layouts, self._clock, self._disable_gc = asked, layouts, clock, disable_gc
        self.iterations: int | None = asked.iterations
        # What the set-up makes is new each round, and what the tear-down gets is what the author knows.
        self._renewing = not (asked.setup or asked.teardown or in_place or layouts.why_in_place())
        if asked.warmup_rounds:
            self.block(asked.warmup_rounds, asked.iterations)

    def renew(self) -> None:
        """Copy the arguments to another place."""
        if self._renewing:
            self._layouts.renew()
            self._clock.renewed()

    def block(self, rounds: int, iterations: int) -> list[float]:
        """Time rounds, each with its set-up and tear-down."""
        seconds = []
        for _ in range(rounds):
            call = self._layouts.current if self._renewing else self._asked.inputs()
            with collector_paused() if self._disable_gc else nullcontext():
                seconds += self._clock.block(call, 1, iterations).seconds
            self._asked.tear_down(call)
        return seconds

    def count(self) -> None:
        """Make no calls that the author did not ask for."""

    def result(self) -> Any:
        """Return what one more call returns."""
        call = self._asked.inputs()
        result = call()
        self._asked.tear_down(call)
        return result


class Once:
    """`benchmark.pedantic` of a single round: it may have side effects, so exactly its author's calls."""

    once = True

    def __init__(self, asked: Pedantic, clock: Clock, *, disable_gc: bool) -> None:
        """Make no call yet."""
        self._asked, self._clock, self._disable_gc = asked, clock, disable_gc
        self.iterations: int | None = asked.iterations
        self._results: list[Any] = []

    def renew(self) -> None:
        """Leave the inputs."""

    def block(self, _rounds: int, _iterations: int) -> list[float]:
        """Make the calls, and time those that are to be timed."""
        blocks: list[Block] = []
        self._results.append(self._asked.measure(self._clock, blocks.append, disable_gc=self._disable_gc))
        return [seconds for block in blocks for seconds in block.seconds]

    def count(self) -> None:
        """Make no calls that the author did not ask for."""

    def result(self) -> Any:
        """Return what the last of the calls returned."""
        if not self._results:
            self.block(1, 1)
        return self._results[-1]


class Held:
    """Obeys commands until the one that lets the benchmark go on."""

    def __init__(self, fixture: Any, clock: Clock, timed: Timed, pause: Callable[[], Any]) -> None:
        """Wait for the first command in `serve`.

        Args:
            fixture: pytest-benchmark's, whose `stats` are to hold the rounds.
            clock: that times.
            timed: what it times.
            pause: makes a context in which tracers and profilers stand still.
        """
        self._fixture, self._clock, self._timed, self._pause = fixture, clock, timed, pause
        self._placement = Placement()

    def serve(self, ask: Callable[[dict[str, Any]], Mapping[str, Any]]) -> None:
        """Answer commands.

        Args:
            ask: sends an answer and returns the next command.

        Raises:
            ClockError: the clock does not see the call.
            Exception: what the benchmark raises.
        """
        obey = {"calibrate": self._calibrate, "block": self._block, "count": self._count}
        command = ask({"answer": "ready", "once": self._timed.once})
        while command["command"] != "next":
            with self._pause():
                answer = obey[command["command"]](command)
            command = ask(answer)
        if self._fixture.stats is None:  # which the test may look at after the call
            with self._pause():
                self._block({"rounds": 1, "iterations": 1})

    def _calibrate(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Warm up, and find how many iterations make a round of some length, and what it costs."""
        self._timed.renew()
        fixed = self._timed.iterations or command["iterations"]
        wanted = max(_ROUND_SECONDS, _RESOLUTIONS * self._clock.resolution_seconds, self._fixture._min_time)  # noqa: SLF001
        iterations = fixed or 1
        while True:
            seconds, cost = self._fastest(iterations)
            if fixed or seconds >= wanted / 2 or iterations == _MAX_ITERATIONS:
                return {
                    "answer": "calibrated",
                    "iterations": iterations,
                    "round_seconds": cost,
                    "cores": self._placement.cores,
                }
            growth = min(10.0, wanted / seconds) if seconds > 0 else 10.0
            iterations = min(_MAX_ITERATIONS, math.ceil(iterations * max(growth, 1.2)))

    def _fastest(self, iterations: int) -> tuple[float, float]:
        """Return the seconds of the fastest of a few rounds, and what it took with its set-up and tear-down.

        The first is slower; a long one is not made again.
        """
        found = []
        for _ in range(_TRIES):
            with self._placement.watching():
                start = self._clock.now()
                (seconds,) = self._timed.block(1, iterations)
                cost = self._clock.now() - start
            found.append((seconds, max(cost, seconds, self._clock.resolution_seconds)))
            if cost > _SLOW_SECONDS:
                break
        return min(found)

    def _count(self, _command: Mapping[str, Any]) -> dict[str, Any]:
        """Count what one call does, where that can be seen."""
        try:
            found = self._timed.count()
        except Exception:  # noqa: BLE001 - a benchmark that can be timed, but not under a dispatch mode
            found = None
        return {"answer": "counted", "counts": found}

    def _block(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Time rounds after an untimed one, the first on new buffers being slower."""
        rounds, iterations = command["rounds"], self._timed.iterations or command["iterations"]
        with self._placement.on(command.get("core")):
            if not self._timed.once:
                self._timed.renew()
                self._timed.block(1, iterations)
            seconds = self._keep(self._timed.block(rounds, iterations), iterations)
        return {
            "answer": "block",
            "ns": statistics.median(seconds) / iterations * 1e9,
            "rounds": len(seconds),
        }

    def _keep(self, seconds: list[float], iterations: int) -> list[float]:
        """Take rounds into the benchmark's statistics; return those that have a time.

        Raises:
            ClockError: none has.
        """
        good = [one for one in seconds if 0 < one < math.inf]
        if not good:
            raise ClockError(f"rounds of {iterations:,} calls took no time that {self._clock.name} can see")
        if self._fixture.stats is None:
            self._fixture._make_stats(iterations)  # noqa: SLF001 - as pytest-benchmark does
        for one in good:
            self._fixture.stats.update(one)
        return good
