"""A benchmark that is held inside its call of `benchmark`, and times blocks of rounds on command."""

import math
import statistics
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from typing import Any, Protocol

from ...cpu import Placement
from ...measure.clock import Block, Call, Clock, ClockError, calibrated_iterations, wanted_seconds
from ...measure.conditions import collector_paused
from ...measure.inspection import Inspection, inspect
from ...measure.instructions import counter_choice, counting
from ...measure.instructions.counting import Calls
from ...measure.layouts import Layouts
from ...measure.pedantic import FIXED, Pedantic
from ...measure.whole_calls import why_unseen

_SLOW_SECONDS = 0.1
"""A calibration round that takes longer is not repeated."""
_TRIES = 4
_PEDANTIC = Inspection(unseen=FIXED)


class Timed(Protocol):
    """A call of `benchmark` or `benchmark.pedantic` that can be timed in blocks."""

    once: bool
    """Whether it can be timed only once in a process."""
    iterations: int | None
    """Iterations of a round, if the benchmark sets them."""
    warms: bool
    """Whether the first round of a block is slower, so that an untimed one precedes it."""

    def renew(self) -> None:
        """Copy the inputs to another place in memory, if possible."""

    def block(self, rounds: int, iterations: int) -> list[float]:
        """Time some rounds; return the seconds of each."""

    def inspect(self) -> Inspection:
        """Return the counters and the fingerprint of one call."""

    def calls(self) -> Calls | str:
        """Return the calls whose instructions can be counted, or why there are none."""


class Plain:
    """`benchmark(function, ...)`."""

    once = False
    warms = True
    iterations: int | None = None

    def __init__(self, layouts: Layouts, clock: Clock, *, in_place: bool, disable_gc: bool) -> None:
        """Time on copies of the inputs, unless they must or can only stay in place."""
        self._layouts, self._clock, self._disable_gc = layouts, clock, disable_gc
        self._renewing = not (in_place or layouts.why_in_place())

    def renew(self) -> None:
        """Copy the inputs to another place, unless they stay in place."""
        if self._renewing:
            self._layouts.renew()
            self._clock.renewed()

    def block(self, rounds: int, iterations: int) -> list[float]:
        """Time rounds on the same copies."""
        with collector_paused() if self._disable_gc else nullcontext():
            # Keep no other reference: a copy that the layouts drop must be freed at once.
            return self._clock.block(self._layouts.current, rounds, iterations).seconds

    def inspect(self) -> Inspection:
        """Call the function a few times on the same copies."""
        self.renew()
        return inspect(self._layouts.current, self._layouts.devices)

    def calls(self) -> Calls:
        """Return calls on the same copies."""
        call = self._layouts.current
        return Pedantic(call.function, call.args, dict(call.kwargs))


class Whole:
    """`benchmark(function, ...)` of a test with the marker `whole_call`."""

    once = False
    warms = False
    iterations: int | None = 1

    def __init__(self, call: Call, clock: Clock, reason: str, *, disable_gc: bool) -> None:
        """Take the reason that the marker gives."""
        self._clock, self._reason, self._disable_gc = clock, reason, disable_gc
        self._function, self._call = call.function, call._replace(function=self._kept)
        self._results: list[Any] = []

    def _kept(self, *args: Any, **kwargs: Any) -> None:
        self._results[:] = [self._function(*args, **kwargs)]

    def renew(self) -> None:
        """Do nothing: what the call starts places its own data."""

    def block(self, rounds: int, _iterations: int) -> list[float]:
        """Time whole calls."""
        with collector_paused() if self._disable_gc else nullcontext():
            return self._clock.block(self._call, rounds, 1).seconds

    def inspect(self) -> Inspection:
        """Inspect nothing: what runs elsewhere cannot be seen."""
        return Inspection(unseen=why_unseen(self._reason))

    def calls(self) -> str:
        """Return why no instructions are counted: other threads and processes execute them."""
        return why_unseen(self._reason)

    def result(self) -> Any:
        """Return the result of the last call; make one if no command did."""
        if not self._results:
            self._call()
        return self._results[-1]


class Repeated:
    """`benchmark.pedantic` with several rounds; more rounds than given may be timed."""

    once = False
    warms = True

    def __init__(
        self, asked: Pedantic, layouts: Layouts, clock: Clock, *, in_place: bool, disable_gc: bool
    ) -> None:
        """Run the warm-up rounds."""
        self._asked, self._layouts, self._clock, self._disable_gc = asked, layouts, clock, disable_gc
        self.iterations: int | None = asked.iterations
        # Set-up makes new inputs itself, and tear-down expects the original ones.
        self._renewing = not (asked.setup or asked.teardown or in_place or layouts.why_in_place())
        if asked.warmup_rounds:
            self.block(asked.warmup_rounds, asked.iterations)

    def renew(self) -> None:
        """Copy the arguments to another place, unless they stay in place."""
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

    def inspect(self) -> Inspection:
        """Inspect nothing: `pedantic` makes only the calls that were asked for."""
        return _PEDANTIC

    def calls(self) -> Calls:
        """Return calls, each with its set-up and tear-down."""
        return self._asked

    def result(self) -> Any:
        """Make one more call, and return its result."""
        call = self._asked.inputs()
        result = call()
        self._asked.tear_down(call)
        return result


class Once:
    """`benchmark.pedantic` with a single round: it may have side effects, so it runs exactly once."""

    once = True
    warms = False

    def __init__(self, asked: Pedantic, clock: Clock, *, disable_gc: bool) -> None:
        """Make no call yet."""
        self._asked, self._clock, self._disable_gc = asked, clock, disable_gc
        self.iterations: int | None = asked.iterations
        self._results: list[Any] = []

    def renew(self) -> None:
        """Do nothing: the only round uses the original inputs."""

    def block(self, _rounds: int, _iterations: int) -> list[float]:
        """Run warm-up and the round; return the seconds of the round."""
        blocks: list[Block] = []
        self._results.append(self._asked.measure(self._clock, blocks.append, disable_gc=self._disable_gc))
        return [seconds for block in blocks for seconds in block.seconds]

    def inspect(self) -> Inspection:
        """Inspect nothing: `pedantic` makes only the calls that were asked for."""
        return _PEDANTIC

    def calls(self) -> str:
        """Return why no instructions are counted: there are no calls beside the round."""
        return "benchmark.pedantic asks for one round"

    def result(self) -> Any:
        """Return the result of the last call; run the round if no command did."""
        if not self._results:
            self.block(1, 1)
        return self._results[-1]


class Held:
    """Answers the coordinator's commands until the benchmark may go on."""

    def __init__(self, fixture: Any, clock: Clock, timed: Timed, pause: Callable[[], Any]) -> None:
        """Wait for the first command in `serve`.

        Args:
            fixture: pytest-benchmark's fixture; its `stats` receive the rounds.
            clock: the clock that `timed` uses.
            timed: the call to time.
            pause: returns a context in which tracers and profilers are paused.
        """
        self._fixture, self._clock, self._timed, self._pause = fixture, clock, timed, pause
        self._placement = Placement()
        self._cost_seconds = 0.0

    def serve(self, ask: Callable[[dict[str, Any]], Mapping[str, Any]], *, again: bool = False) -> None:
        """Answer commands.

        Args:
            ask: sends an answer and returns the next command.
            again: whether the test has called `benchmark` before.

        Raises:
            ClockError: the clock cannot time the call.
            Exception: what the benchmark raises.
        """
        obey = {
            "inspect": self._inspect,
            "calibrate": self._calibrate,
            "block": self._block,
            "count": self._count,
            "frames": self._frames,
        }
        command = ask({"answer": "ready", "once": self._timed.once, "again": again})
        while command["command"] != "next":
            with self._pause():
                answer = obey[command["command"]](command)
            command = ask(answer)
        if self._fixture.stats is None:  # the test may read the statistics after the call
            with self._pause():
                self._block({"rounds": 1, "iterations": 1})

    def _calibrate(self, _command: Mapping[str, Any]) -> dict[str, Any]:
        """Warm up, find the iterations of a round unless the benchmark sets them, and what a round costs."""
        self._timed.renew()
        if iterations := self._timed.iterations:
            self._fastest(iterations)
        else:
            wanted = wanted_seconds(self._clock, self._fixture._min_time)  # noqa: SLF001
            iterations = calibrated_iterations(self._fastest, 1, wanted, self._clock)
        return {
            "answer": "calibrated",
            "iterations": iterations,
            "round_seconds": self._cost_seconds,
            "cores": self._placement.cores,
        }

    def _fastest(self, iterations: int) -> float:
        """Return the seconds of the fastest of a few rounds, and keep its cost with set-up and tear-down."""
        found = []
        for _ in range(_TRIES):
            with self._placement.watching():
                start = self._clock.now()
                (seconds,) = self._timed.block(1, iterations)
                cost = self._clock.now() - start
            found.append((seconds, max(cost, seconds, self._clock.resolution_seconds)))
            if cost > _SLOW_SECONDS:
                break
        seconds, self._cost_seconds = min(found)
        return seconds

    def _inspect(self, _command: Mapping[str, Any]) -> dict[str, Any]:
        """Take counters and fingerprint of one call."""
        return {"answer": "inspected", **self._timed.inspect().as_json()}

    def _count(self, _command: Mapping[str, Any]) -> dict[str, Any]:
        """Count the instructions of a call."""
        calls = self._timed.calls()
        if isinstance(calls, str):
            return {"answer": "not counted", "reason": calls}
        with closing(counter_choice.here()) as counter:
            return {"answer": "counted", **counting.take(calls, counter)}

    def _frames(self, _command: Mapping[str, Any]) -> dict[str, Any]:
        """Divide the instructions of a call among the Python functions."""
        calls = self._timed.calls()
        assert not isinstance(calls, str)
        with closing(counter_choice.here()) as counter:
            return {"answer": "frames", **counting.take_by_frame(calls, counter)}

    def _block(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Time rounds, after one untimed round: the first on new buffers is slower."""
        rounds, iterations = command["rounds"], self._timed.iterations or command["iterations"]
        with self._placement.on(command.get("core")):
            self._timed.renew()
            if self._timed.warms:
                self._timed.block(1, iterations)
            seconds = self._keep(self._timed.block(rounds, iterations), iterations)
        return {
            "answer": "block",
            "ns": statistics.median(seconds) / iterations * 1e9,
            "rounds": len(seconds),
        }

    def _keep(self, seconds: list[float], iterations: int) -> list[float]:
        """Add rounds to the benchmark's statistics; return those with a positive, finite time.

        Raises:
            ClockError: there are none.
        """
        good = [one for one in seconds if 0 < one < math.inf]
        if not good:
            raise ClockError(
                f"rounds of {iterations:,} calls are too short for the resolution of {self._clock.name}"
            )
        if self._fixture.stats is None:
            self._fixture._make_stats(iterations)  # noqa: SLF001 - as pytest-benchmark does
        for one in good:
            self._fixture.stats.update(one)
        return good
