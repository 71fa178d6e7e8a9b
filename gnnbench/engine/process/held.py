"""A benchmark that is held inside its call of `benchmark`, and times blocks of rounds on command."""

import math
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..ground import codec
from ..ground.cpu import CpuUse, Placement
from ..measure import cost, instructions
from ..measure.benchmark_fixture import FIXED, Pedantic, pause_tracing
from ..measure.clock import Block, Call, Clock, ClockError, calibrated_iterations, wanted_seconds
from ..measure.conditions import collector_paused
from ..measure.inspection import Inspection, inspect
from ..measure.layouts import Layouts

if TYPE_CHECKING:
    from types import CodeType

    from ..measure.returned.calls import ComparedCalls  # it imports numpy
    from ..measure.returned.inputs import Snapshot

_SLOW_SECONDS = 0.02
"""A calibration round that takes longer is not repeated."""
_TRIES = 4


class Held:
    """`benchmark(function, ...)`; subclasses are other ways to be timed."""

    once = False
    """Whether it can be timed only once in a process."""
    warms = True
    """Whether the first round of a block is slower, so that an untimed one precedes it."""
    has_cpu_time = True
    """Whether a block executes nothing but its calls."""
    iterations: int | None = None
    """Iterations of a round, if the benchmark sets them."""
    unseen: str | None = None
    """Why no call is inspected. None if it is."""
    no_calls = ""
    """Why all calls are timed, so that none can be inspected. Empty if there may be others."""

    def __init__(self, fixture: Any, layouts: Layouts, clock: Clock, *, stays: bool) -> None:
        self._fixture, self._layouts, self._clock = fixture, layouts, clock
        self._disable_gc = bool(fixture._disable_gc)  # noqa: SLF001
        self._renewing = not (stays or layouts.why_in_place())
        self._placement = Placement()
        self._cost_seconds = 0.0
        self._compared: ComparedCalls | None = None
        self._inputs: Snapshot | None = None
        self.codes: Sequence[Sequence[CodeType]] = ()
        """By recorded call, the code of the functions that ran. Empty if it is not known."""

    def renew(self) -> Call:
        """Return the call, its inputs copied to another place unless they must or can only stay in place."""
        if self._renewing:
            self._layouts.renew()
            self._clock.inputs_moved()
        return self._layouts.current

    def block(self, rounds: int, iterations: int) -> Block:
        """Time some rounds on the same inputs."""
        with collector_paused() if self._disable_gc else nullcontext():
            # Keep no other reference: a copy that the layouts drop must be freed at once.
            return self._clock.block(self._layouts.current, rounds, iterations)

    def calls(self) -> Pedantic:
        """Return the calls whose instructions can be counted, and whose results can be compared."""
        return Pedantic.of(self._layouts.current)

    def result(self) -> Any:
        """Return what the test gets."""
        return self._layouts.original()

    def serve(
        self,
        ask: Callable[[dict[str, Any]], Mapping[str, Any]],
        *,
        scope: Mapping[str, Any] | None = None,
        fixed: bool = False,
        tested: Collection[str] = (),
        noting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> bool:
        """Answer the coordinator's commands until the benchmark may go on; raise what it raises.

        `fixed`: whether the inputs must keep their values when outputs are compared. Returns whether the test
        is to end here, because the call need not run.
        """
        self._scope, self._fixed, self._tested, self._noting = scope or {}, fixed, tested, noting
        command = ask({"answer": "ready", "once": self.once, "inspects": not self.no_calls})
        while command["command"] != "next":
            command = ask(self.obey(command))
        if command.get("leave"):
            return True
        if self._fixture.stats is None:  # the test may read the statistics after the call
            with pause_tracing():
                self._block({"rounds": 1, "iterations": 1})
        return False

    def obey(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a command that `serve` takes; each has a method of its name."""
        with pause_tracing():
            answer: dict[str, Any] = getattr(self, f"_{command['command']}")(command)
        return answer

    def _calibrate(self, _command: Mapping[str, Any]) -> dict[str, Any]:
        """Warm up, find the iterations of a round unless the benchmark sets them, and what a round costs."""
        self.renew()
        if iterations := self.iterations:
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
        rounds = []
        for _ in range(_TRIES):
            with self._placement.watching():
                start = self._clock.now()
                (seconds,) = self.block(1, iterations).seconds
                cost = self._clock.now() - start
            rounds.append((seconds, max(cost, seconds, self._clock.resolution_seconds)))
            if cost > _SLOW_SECONDS:
                break
        seconds, self._cost_seconds = min(rounds)
        return seconds

    def _inspect(self, _command: Mapping[str, Any]) -> dict[str, Any]:
        """Find out what a call does, which is made a few times on new copies."""
        inspection = Inspection(unseen=self.unseen)
        with self._noting():
            if not self.unseen:
                inspection = inspect(self.renew(), self._layouts.devices)
            if not inspection.unseen:
                inspection = replace(inspection, launches=self._clock.launches(self._layouts.current))
        self.codes = inspection.codes if inspection.fingerprint else ()
        return {"answer": "inspected", **inspection.as_json()}

    def _cost(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Find out what a call costs, after it was inspected; on a core, if one is given."""
        clock = self._clock if self._clock.times_device else None
        try:
            with self._placement.on(command.get("core")):
                costs, codes = cost.measure_cost(self.renew, self._noting, clock)
        except Exception as error:  # noqa: BLE001 - a call may have an end, as that of a generator
            unseen = f"it cannot be repeated ({type(error).__name__})"
            return {"answer": "cost", "cost": None, "unseen": unseen}
        if self.codes and codes:
            self.codes = (*self.codes, codes)
        return {"answer": "cost", "cost": codec.encode(costs)}

    def keep_inputs(self) -> None:
        """Keep what the inputs hold: the calls before those whose outputs are compared may change them."""
        from ..measure.returned.calls import snapshot_inputs

        if not self.no_calls:
            self._inputs = snapshot_inputs(self.calls())

    def _return(self, command: Mapping[str, Any]) -> dict[str, Any]:
        if self.no_calls:
            return {"answer": "nothing returned", "reason": self.no_calls}
        from ..ground.outputs import TooMuchError
        from ..measure.returned.calls import NONE_NEW, ComparedCalls

        level = NONE_NEW if self._fixed else command["level"]
        if self._inputs:
            self._inputs.restore()
        self.renew()
        calls = self._compared = ComparedCalls(self.calls(), self._scope, level=level, tested=self._tested)
        calls.first_state = self._inputs.state if self._inputs else None
        try:
            calls.make_first()
        except Exception as error:  # noqa: BLE001 - inputs and outputs may be anything
            name = "" if isinstance(error, TooMuchError) else f"{type(error).__name__}: "
            return {"answer": "nothing returned", "reason": f"{name}{error}"}
        distance = getattr(self._fixture, "reference_error", None)
        return {"answer": "returned", "reference_error": distance, **calls.as_json()}

    def _save(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Write what calls returned into files, which the coordinator reads and removes."""
        assert self._compared
        return {"answer": "saved", "files": self._compared.save(command["wanted"], Path(command["folder"]))}

    def _count(self, _command: Mapping[str, Any]) -> dict[str, Any]:
        if self.no_calls:
            return {"answer": "not counted", "reason": self.no_calls}
        with closing(instructions.Callgrind()) as counter:
            return {"answer": "counted", **instructions.count_until_equal(self.calls(), counter)}

    def _block(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Time rounds, after an untimed one; a long one on the same buffers as before is timed at once."""
        rounds, iterations = command["rounds"], self.iterations or command["iterations"]
        renews = command.get("renew", True)
        with self._placement.on(command.get("core")):
            if renews:
                self.renew()
            if self.warms and (renews or rounds > 1):
                self.block(1, iterations)
            before = CpuUse.now()
            block = self.block(rounds, iterations)
            seconds = self._keep(block.seconds, iterations)
            after = CpuUse.now()
        used_ns = after.process_ns - before.process_ns
        is_cpu_time = self.has_cpu_time and self._clock.name == "perf_counter"
        return {
            "answer": "block",
            "ns": statistics.median(seconds) / iterations * 1e9,
            "rounds": len(seconds),
            "gpu_ns": block.device_seconds and block.device_seconds / iterations * 1e9,
            "gpu_hertz": block.device_hertz,
            "cpu_ns": used_ns / rounds / iterations or None if is_cpu_time else None,
            "cpu_share": used_ns / 1e9 / sum(seconds),
            "waits": not after.is_whole_since(before),
        }

    def _keep(self, seconds: list[float], iterations: int) -> list[float]:
        """Add rounds to the benchmark's statistics; return those with a positive, finite time."""
        good = [second for second in seconds if 0 < second < math.inf]
        if not good:
            raise ClockError(
                f"rounds of {iterations:,} calls are too short for the resolution of {self._clock.name}"
            )
        if self._fixture.stats is None:
            self._fixture._make_stats(iterations)  # noqa: SLF001 - as pytest-benchmark does
        for second in good:
            self._fixture.stats.update(second)
        return good


class Repeated(Held):
    """`benchmark.pedantic` with several rounds; more rounds than given may be timed."""

    has_cpu_time = False
    unseen = FIXED

    def __init__(
        self, fixture: Any, layouts: Layouts, clock: Clock, asked: Pedantic, *, stays: bool = False
    ) -> None:
        self._asked, self.iterations = asked, asked.iterations
        # Set-up makes new inputs itself, and tear-down expects the original ones.
        super().__init__(fixture, layouts, clock, stays=bool(asked.setup or asked.teardown or stays))
        if asked.warmup_rounds and not isinstance(self, AllTimed):
            with pause_tracing():
                self.block(asked.warmup_rounds, asked.iterations)

    def block(self, rounds: int, iterations: int) -> Block:
        """Time rounds, each with its set-up and tear-down."""
        blocks = []
        for _ in range(rounds):
            call = self._layouts.current if self._renewing else self._asked.next_call()
            with collector_paused() if self._disable_gc else nullcontext():
                blocks.append(self._clock.block(call, 1, iterations))
            self._asked.tear_down(call)
        return Block.of(blocks)

    def calls(self) -> Pedantic:
        """Return calls, each with its set-up and tear-down."""
        return self._asked

    def result(self) -> Any:
        """Make one more call, and return its result."""
        return self._asked.once()


class AllTimed(Repeated):
    """Calls that may have side effects: all are timed, and the test gets the result of the last one.

    They are that of `benchmark.pedantic` with a single round, which is made once, or those of
    `benchmark(function, ...)` in a test with the marker `whole_call`: then `whole` says why.
    """

    warms = False

    def __init__(
        self, fixture: Any, layouts: Layouts, clock: Clock, asked: Pedantic, *, whole: str = ""
    ) -> None:
        super().__init__(fixture, layouts, clock, asked, stays=True)
        self.once, self.has_cpu_time = not whole, bool(whole)
        self.unseen, self.no_calls = whole or FIXED, whole or "benchmark.pedantic asks for one round"
        self._results: list[Any] = []

    def block(self, rounds: int, _iterations: int) -> Block:
        """Time rounds, each after its warm-up."""
        blocks: list[Block] = []
        for _ in range(rounds):
            result = self._asked.measure(self._clock, blocks.append, disable_gc=self._disable_gc)
            self._results[:] = [result]
        return Block.of(blocks)

    def result(self) -> Any:
        """Return the result of the last call; run a round if no command did."""
        if not self._results:
            self.block(1, 1)
        return self._results[-1]
