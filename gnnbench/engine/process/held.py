"""A held call of `benchmark`: the test stays in this call, which obeys commands such as to time a block.

A *round* is a number of calls of the benchmarked function, and a *block* a number of rounds.
"""

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
"""A calibration round that takes longer than this is not repeated."""
_MOST_CALIBRATION_ROUNDS = 4


class HeldCall:
    """A call `benchmark(function, ...)`. Subclasses hold the other kinds of calls of `benchmark`."""

    once = False
    """Whether the call can be timed only once in each process."""
    warms = True
    """Whether an untimed round precedes each block, because the first round is slower."""
    has_cpu_time = True
    """Whether the CPU time of a block is that of its calls alone."""
    iterations: int | None = None
    """The number of calls in a round, if the benchmark sets it. None if calibration chooses it."""
    unseen: str | None = None
    """Why the code of a call cannot be inspected; None if it can."""
    no_calls = ""
    """Why gnnbench cannot make untimed calls; empty if it can."""

    def __init__(self, fixture: Any, layouts: Layouts, clock: Clock, *, in_place: bool) -> None:
        self._fixture, self._layouts, self._clock = fixture, layouts, clock
        self._disable_gc = bool(fixture._disable_gc)  # noqa: SLF001
        self._copies_inputs = not (in_place or layouts.why_in_place())
        self._placement = Placement()
        self._round_seconds = 0.0
        self._compared: ComparedCalls | None = None
        self._inputs: Snapshot | None = None
        self.codes: Sequence[Sequence[CodeType]] = ()
        """The code of the functions that each recorded call ran; empty if no call was recorded."""

    def renew(self) -> Call:
        """Return the call, with new copies of its inputs at other addresses if these can be copied."""
        if self._copies_inputs:
            self._layouts.renew()
            self._clock.inputs_moved()
        return self._layouts.current

    def block(self, rounds: int, iterations: int) -> Block:
        """Time some rounds on the same inputs."""
        with collector_paused() if self._disable_gc else nullcontext():
            # Keep no reference to the call: when the layouts drop a copy of its inputs, it must be freed.
            return self._clock.block(self._layouts.current, rounds, iterations)

    def calls(self) -> Pedantic:
        """Return the call for untimed use: its instructions are counted, or its outputs are compared."""
        return Pedantic.of(self._layouts.current)

    def result(self) -> Any:
        """Return what the test gets from its call of `benchmark`."""
        return self._layouts.original()

    def serve(
        self,
        ask: Callable[[dict[str, Any]], Mapping[str, Any]],
        *,
        scope: Mapping[str, Any] | None = None,
        fixed_inputs: bool = False,
        tested: Collection[str] = (),
        noting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> bool:
        """Obey the commands of the coordinator, gnnbench's main process, until the test may go on.

        `ask` sends an answer and returns the next command. `scope` holds the globals of the test's module,
        which calls may read. With `fixed_inputs`, the inputs keep their values when outputs are compared.
        `tested` names the packages under test. `noting` returns a context that records which code is used.
        Returns True if the test ends here, because nothing needs the result of its call.
        """
        self._scope, self._fixed_inputs = scope or {}, fixed_inputs
        self._tested, self._noting = tested, noting
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
        """Call the method that is named after the command, and return its answer."""
        with pause_tracing():
            answer: dict[str, Any] = getattr(self, f"_{command['command']}")(command)
        return answer

    def _calibrate(self, _command: Mapping[str, Any]) -> dict[str, Any]:
        """Warm up, choose the iterations of a round unless the benchmark sets them, and time a round."""
        self.renew()
        if iterations := self.iterations:
            self._fastest(iterations)
        else:
            wanted = wanted_seconds(self._clock, self._fixture._min_time)  # noqa: SLF001
            iterations = calibrated_iterations(self._fastest, 1, wanted, self._clock)
        return {
            "answer": "calibrated",
            "iterations": iterations,
            "round_seconds": self._round_seconds,
            "cores": self._placement.cores,
        }

    def _fastest(self, iterations: int) -> float:
        """Return the seconds of the fastest of a few rounds, and store its duration including set-up."""
        rounds = []
        for _ in range(_MOST_CALIBRATION_ROUNDS):
            with self._placement.watching():
                start = self._clock.now()
                (seconds,) = self.block(1, iterations).seconds
                duration = self._clock.now() - start
            rounds.append((seconds, max(duration, seconds, self._clock.resolution_seconds)))
            if duration > _SLOW_SECONDS:
                break
        seconds, self._round_seconds = min(rounds)
        return seconds

    def _inspect(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Make a few calls on new copies of the inputs, and answer which code they run."""
        if command.get("compared") and not self.no_calls:
            from ..measure.returned.calls import snapshot_inputs

            self._inputs = snapshot_inputs(self.calls())  # calls may change the inputs
        inspection = Inspection(unseen=self.unseen)
        with self._noting():
            if not self.unseen:
                inspection = inspect(self.renew(), self._layouts.devices)
            if not inspection.unseen:
                inspection = replace(inspection, launches=self._clock.launches(self._layouts.current))
        self.codes = inspection.codes if inspection.fingerprint else ()
        return {"answer": "inspected", **inspection.as_json()}

    def _cost(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Measure the cost of a call that was inspected before, on the command's core if it names one."""
        clock = self._clock if self._clock.times_device else None
        try:
            with self._placement.on(command.get("core")):
                costs, codes = cost.measure_cost(self.renew, self._noting, clock)
        except Exception as error:  # noqa: BLE001 - a call may not be repeatable, such as one that uses up a generator
            unseen = f"the call cannot be repeated ({type(error).__name__})"
            return {"answer": "cost", "cost": None, "unseen": unseen}
        if self.codes and codes:
            self.codes = (*self.codes, codes)
        return {"answer": "cost", "cost": codec.encode(costs)}

    def _return(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Make calls, and answer with hashes of what they return and change."""
        if self.no_calls:
            return {"answer": "nothing returned", "reason": self.no_calls}
        from ..ground.outputs import TooMuchError
        from ..measure.returned.calls import NONE_NEW, ComparedCalls

        level = NONE_NEW if self._fixed_inputs else command["level"]
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
        reference_error = getattr(self._fixture, "reference_error", None)
        return {"answer": "returned", "reference_error": reference_error, **calls.as_json()}

    def _save(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Write a value that a call returned to a file, which the coordinator reads and removes."""
        assert self._compared
        saved = self._compared.save(command["number"], command["place"], Path(command["folder"]))
        return {"answer": "saved", "saved": saved}

    def _count(self, _command: Mapping[str, Any]) -> dict[str, Any]:
        if self.no_calls:
            return {"answer": "not counted", "reason": self.no_calls}
        with closing(instructions.Callgrind()) as counter:
            return {"answer": "counted", **instructions.count_until_equal(self.calls(), counter)}

    def _block(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Time rounds. An untimed round comes first, except before a single round on unchanged copies."""
        rounds, iterations = command["rounds"], self.iterations or command["iterations"]
        renews = command.get("renew", True)
        with self._placement.on(command.get("core")):
            if renews:
                self.renew()
            if self.warms and (renews or rounds > 1):
                self.block(1, iterations)
            before = CpuUse.now()
            block = self.block(rounds, iterations)
            seconds = self._add_rounds(block.seconds, iterations)
            after = CpuUse.now()
        used_ns = after.process_ns - before.process_ns
        is_cpu_time = self.has_cpu_time and self._clock.name == "perf_counter"
        return {
            "answer": "block",
            "ns": statistics.median(seconds) / iterations * 1e9,
            "mean_ns": statistics.fmean(seconds) / iterations * 1e9,
            "rounds": len(seconds),
            "gpu_ns": block.device_seconds and block.device_seconds / iterations * 1e9,
            "gpu_hertz": block.device_hertz,
            "cpu_ns": (used_ns / rounds / iterations or None) if is_cpu_time else None,
            "cpu_share": used_ns / 1e9 / sum(seconds),
            "waits": not after.is_one_thread_since(before),
        }

    def _add_rounds(self, seconds: list[float], iterations: int) -> list[float]:
        """Add the rounds with a positive, finite time to the benchmark's statistics, and return these."""
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


class PedanticCall(HeldCall):
    """A call `benchmark.pedantic(...)` with several rounds, of which gnnbench times as many as it needs."""

    has_cpu_time = False
    unseen = FIXED

    def __init__(
        self, fixture: Any, layouts: Layouts, clock: Clock, pedantic: Pedantic, *, in_place: bool = False
    ) -> None:
        self._pedantic, self.iterations = pedantic, pedantic.iterations
        # A set-up function makes new inputs itself, and a tear-down function expects the original ones.
        in_place = in_place or bool(pedantic.setup or pedantic.teardown)
        super().__init__(fixture, layouts, clock, in_place=in_place)
        if pedantic.warmup_rounds and not isinstance(self, AllTimedCalls):
            with pause_tracing():
                self.block(pedantic.warmup_rounds, pedantic.iterations)

    def block(self, rounds: int, iterations: int) -> Block:
        """Time rounds, each with its set-up and tear-down."""
        blocks = []
        for _ in range(rounds):
            call = self._layouts.current if self._copies_inputs else self._pedantic.next_call()
            with collector_paused() if self._disable_gc else nullcontext():
                blocks.append(self._clock.block(call, 1, iterations))
            self._pedantic.tear_down(call)
        return Block.of(blocks)

    def calls(self) -> Pedantic:
        """Return untimed calls, each with its set-up and tear-down."""
        return self._pedantic

    def result(self) -> Any:
        """Make one more call, and return its result."""
        return self._pedantic.once()


class AllTimedCalls(PedanticCall):
    """Calls that may have side effects: gnnbench adds no untimed ones. The test gets the last call's result.

    The calls come from `benchmark.pedantic` with one round, or from `benchmark(function, ...)` in a test with
    the marker `whole_call`, whose text is the `reason`.
    """

    warms = False

    def __init__(
        self, fixture: Any, layouts: Layouts, clock: Clock, pedantic: Pedantic, *, reason: str = ""
    ) -> None:
        super().__init__(fixture, layouts, clock, pedantic, in_place=True)
        self.once, self.has_cpu_time = not reason, bool(reason)
        self.unseen, self.no_calls = reason or FIXED, reason or "benchmark.pedantic asks for one round"
        self._results: list[Any] = []

    def block(self, rounds: int, _iterations: int) -> Block:
        """Time rounds, each after its warm-up."""
        blocks: list[Block] = []
        for _ in range(rounds):
            result = self._pedantic.measure(self._clock, blocks.append, disable_gc=self._disable_gc)
            self._results[:] = [result]
        return Block.of(blocks)

    def result(self) -> Any:
        """Return the result of the last call. Makes a call if no command has made one."""
        if not self._results:
            self.block(1, 1)
        return self._results[-1]
