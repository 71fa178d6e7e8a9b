"""The instrument that times the calls of `benchmark` in a session of pytest, and the state of the session."""

import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..ground import codec, cpu, json_io
from ..interfaces import Instrument
from .benchmark_fixture import FIXED, Pedantic, pause_tracing, whole_call_reason
from .clock import Block, Call, Clock
from .conditions import compilations
from .inspection import inspect
from .layouts import Layouts, clock_for
from .measurement import Measurement
from .sampler import Effort, Sampler
from .simulated_clock import VARIABLE, FakeMachine

LEAST_SECONDS = 0.1
"""Shortest time for a benchmark: with less, rounds would be too short."""


@dataclass
class SessionState:
    """State that the instruments of a session share."""

    version: int
    """Version of the format of `extra_info["gnnbench"]`."""
    used: bool = False
    """Whether any benchmark was timed."""
    timing_seconds: float = 0.0
    """Total time that was spent on timing, including the copying of inputs."""
    failure: BaseException | None = None
    """The exception that interrupted the last measurement. None if it was not interrupted."""
    incomplete: list[dict[str, Any]] = field(default_factory=list)
    """Interrupted benchmarks, each with its rounds before the interruption."""
    repeated: list[str] = field(default_factory=list)
    """Names of tests with several benchmarks. Only the first benchmark is used."""
    watch: cpu.ContentionWatch | None = None
    _definition: str | None = None
    """Hash of the definition of the running test. None if its suite writes the hash itself."""
    _timed: int = 0
    """Number of benchmarks of the running test that were timed."""
    _machine: FakeMachine | None = None

    def begin(self) -> None:
        """Create the simulated machine, if it is set, and the watch for CPU time of other programs."""
        if text := os.environ.get(VARIABLE):
            self._machine = FakeMachine.parse(text)
        self.watch = cpu.ContentionWatch()

    def clock(self, fixture: Any, devices: Sequence[str], *, flush: bool) -> Clock:
        if self._machine:
            return self._machine.clock(fixture.fullname)
        return clock_for(devices, fixture._timer, flush=flush)  # noqa: SLF001

    def ran_out_of_memory(self, fullname: str, text: str) -> None:
        """Record a text such as `OOM at 9 GiB` as the error of an interrupted benchmark."""
        if not self.incomplete or self.incomplete[-1]["fullname"] != fullname:
            self.incomplete.append({"fullname": fullname, "measurement": None})
        self.incomplete[-1]["error"] = text

    def begin_test(self, definition: str | None) -> None:
        """Prepare for the benchmarks of a test; `definition` is the hash of its definition."""
        self._definition, self._timed = definition, 0

    def part(self, fixture: Any) -> dict[str, Any]:
        """Return gnnbench's part of a benchmark's `extra_info`. A part of another version is replaced."""
        part = json_io.gnnbench_part(fixture.extra_info)
        if part.get("version") != self.version:
            part = fixture.extra_info[json_io.KEY] = {"version": self.version}
        if self._definition:
            part["definition_hash"] = self._definition
        self._timed += 1
        if self._timed == 2:  # noqa: PLR2004 - named once
            self.repeated.append(fixture.fullname)
        return part

    def inspect(self, fixture: Any, layouts: Layouts) -> Any:
        """Add counters and fingerprint of a call to `extra_info`. Returns the result of one more call."""
        part = json_io.gnnbench_part(fixture.extra_info)
        with pause_tracing():
            inspection = inspect(layouts.original, layouts.devices)
        if inspection.counters:
            part["counters"] = codec.encode(inspection.counters)
        if inspection.fingerprint:
            part["fingerprint"] = codec.encode(inspection.fingerprint)
        elif inspection.unseen:
            part["no_fingerprint"] = inspection.unseen
        return layouts.original()


@dataclass
class TimeBudget:
    """Divides the time of a session among its benchmarks, which run in sequence.

    Each benchmark gets an equal share of the remaining time, minus the median of `_other_seconds`.
    """

    seconds: float
    """Remaining time of all benchmarks for set-up, check, timing and inspection."""
    benchmarks: int = 0
    """Number of benchmarks that have not started."""
    _other_seconds: list[float] = field(default_factory=list)
    """Time that each finished benchmark took in addition to its timing."""

    def next_seconds(self) -> float:
        other = statistics.median(self._other_seconds) if self._other_seconds else 0.0
        share = self.seconds / max(1, self.benchmarks)
        self.benchmarks -= 1
        return max(LEAST_SECONDS, share - other)

    def spend(self, seconds: float, timing_seconds: float) -> None:
        self.seconds -= seconds
        self._other_seconds.append(seconds - timing_seconds)


@dataclass(frozen=True)
class TimeInstrument(Instrument):
    """Times a benchmark, and then inspects it."""

    state: SessionState
    sample_layouts: bool
    """Whether each block is timed on new copies of the inputs."""
    precision: float
    flush: bool
    """Whether the GPU's L2 cache is flushed before each round."""
    in_place: str | None = None
    """Reason of the marker `in_place`: the inputs are not copied. None without the marker."""
    whole_call: str | None = None
    """Reason of the marker `whole_call`, see `Sampler.whole`. None without the marker."""
    max_seconds: float | None = None
    """Time limit. None if `--benchmark-max-time` or the marker `benchmark` sets it."""

    def measure(self, fixture: Any, call: Call) -> Any:
        """Time rounds until a stopping rule applies. Then inspect a call, unless `whole_call` is set."""
        with self._measuring(fixture, call, self.in_place) as (layouts, clock, measurement, add):
            sampler = Sampler(clock, self._effort(fixture), measurement, add)
            if self.whole_call:
                result = sampler.whole(layouts.original)
            else:
                sampler.sample(layouts)
        if self.whole_call:
            part = json_io.gnnbench_part(fixture.extra_info)
            part["no_fingerprint"] = whole_call_reason(self.whole_call)
            if compiled := compilations():
                part["compilation"] = compiled
            return result
        return self.state.inspect(fixture, layouts)

    def measure_pedantic(self, fixture: Any, calls: Pedantic) -> Any:
        call = Call(calls.target, calls.args, calls.kwargs)
        with self._measuring(fixture, call, FIXED) as (_, clock, measurement, add):
            measurement.iterations = calls.iterations
            result = calls.measure(clock, add, disable_gc=fixture._disable_gc)  # noqa: SLF001
            measurement.stopped_by = "rounds"
        json_io.gnnbench_part(fixture.extra_info)["no_fingerprint"] = FIXED
        return result

    def _effort(self, fixture: Any) -> Effort:
        return Effort(
            precision=self.precision,
            max_seconds=fixture._max_time if self.max_seconds is None else self.max_seconds,  # noqa: SLF001
            min_seconds=fixture._min_time,  # noqa: SLF001
            min_rounds=fixture._min_rounds,  # noqa: SLF001
            warmup_iterations=fixture._warmup or 1,  # noqa: SLF001
            disable_gc=fixture._disable_gc,  # noqa: SLF001
        )

    @contextmanager
    def _measuring(
        self, fixture: Any, call: Call, in_place: str | None
    ) -> Iterator[tuple[Layouts, Clock, Measurement, Callable[[Block], None]]]:
        """Return a context that measures a call, and saves the rounds even after an interruption."""
        state = self.state
        state.used = True
        layouts = Layouts(call)
        clock = state.clock(fixture, layouts.devices, flush=self.flush and not self.whole_call)
        in_place = in_place or self.whole_call
        if not in_place:
            in_place = layouts.why_in_place() if self.sample_layouts else "--gnn-layouts one"
        measurement = Measurement(clock.name, "one" if in_place else "sampled", in_place)
        measurement.whole_call = self.whole_call

        def add(block: Block) -> None:
            measurement.add(block)
            if fixture.stats is None:
                fixture._make_stats(measurement.iterations)  # noqa: SLF001
            for seconds in block.seconds:
                fixture.stats.update(seconds)

        watch = None if clock.name in cpu.UNWATCHED_CLOCKS else state.watch
        if watch:
            watch.begin()
        start = clock.now()
        try:
            with pause_tracing():
                yield layouts, clock, measurement, add
        except (Exception, KeyboardInterrupt) as error:
            # pytest-benchmark does not catch KeyboardInterrupt, and would report the rounds as complete.
            fixture.has_error = True
            state.failure = error
            text = ": ".join(filter(None, (type(error).__name__, str(error))))
            record = {"fullname": fixture.fullname, "error": text, "measurement": measurement.as_json()}
            state.incomplete.append(record)
            raise
        finally:
            state.timing_seconds += clock.now() - start
        measurement.not_copied = layouts.not_copied
        if watch:
            measurement.contention_share = watch.contention_share()
        state.part(fixture)["measurement"] = measurement.as_json()
