"""Replaces pytest-benchmark's timing by gnnbench's.

pytest-benchmark has no hook for timing, so two private methods of its fixture are replaced. The fixture's
type, its marker, `weave`, `extra_info`, `stats`, and a suite's override of the fixture keep working.
"""

import cProfile
import inspect
import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import pytest_benchmark
from pytest_benchmark.fixture import BenchmarkFixture, PauseInstrumentation
from pytest_benchmark.session import BenchmarkSession
from pytest_benchmark.storage.file import FileStorage

from .. import codec
from ..errors import UsageError
from . import compilation, extra_info
from .clock import Call, Clock, ClockError
from .layouts import Layouts, clock_for
from .measurement import Measurement
from .pedantic import FIXED, Pedantic
from .weight import Weight, growth_bytes, weigh
from .whole_calls import sample_whole, why_unseen

if TYPE_CHECKING:
    from ..cpu import Watch
    from .simulated_clock import FakeMachine

_PARAMETERS: dict[type, dict[str, tuple[str, ...]]] = {
    BenchmarkFixture: {
        "_raw": ("self", "function_to_benchmark", "args", "kwargs"),
        "_raw_pedantic": (
            *("self", "target", "args", "kwargs", "setup", "teardown"),
            *("rounds", "warmup_rounds", "iterations"),
        ),
        "_make_stats": ("self", "iterations"),
        "_save_cprofile": ("self", "profile"),
    },
    BenchmarkSession: {"save_json": ("self", "output_json")},
    FileStorage: {"save": ("self", "output_json", "save"), "get": ("self", "name")},
}
"""Parameters of pytest-benchmark's methods that this module and plugin/saving.py rely on."""


@dataclass(frozen=True)
class TimingSettings:
    """How a benchmark is timed."""

    sample_layouts: bool
    """Whether the inputs are re-allocated between blocks of rounds."""
    precision: float
    """Timing stops at this half-width of the interval, a fraction of the time."""
    flush: bool
    """Whether the GPU's L2 cache is flushed before each round."""
    in_place: str | None = None
    """Reason of the `in_place` marker; the inputs are not copied then."""
    whole_call: str | None = None
    """Reason of the `whole_call` marker; see `whole_calls`."""
    inspect_only: bool = False
    """Whether a call is only inspected, not timed."""
    max_seconds: float | None = None
    """Time for this benchmark; None: that of `--benchmark-max-time` or of its marker."""
    growth: bool = False
    """Whether growth is measured instead of time, also where pytest-benchmark is disabled, as with -n."""

    def apply_to(self, fixture: Any) -> bool:
        """Return whether gnnbench takes the place of pytest-benchmark."""
        return self.growth or not fixture.disabled


@dataclass
class Patch:
    """The replaced methods, and the state of the session's timing."""

    version: int
    """Version of the format of `extra_info["gnnbench"]`."""
    settings: TimingSettings | None = None
    """Settings of the running test; None: pytest-benchmark times it."""
    used: bool = False
    """Whether any benchmark of this session was timed."""
    timing_seconds: float = 0.0
    """How long this session's benchmarks were timed, all together, with copying their inputs."""
    failure: BaseException | None = None
    """The exception that interrupted the last measurement, if any."""
    incomplete: list[dict[str, Any]] = field(default_factory=list)
    """Interrupted benchmarks, with the rounds until then."""
    weighing: bool = False
    """Whether the memory of the running test's benchmark is measured although pytest-benchmark times it."""
    weighed: dict[str, Weight] = field(default_factory=dict)
    """The memory of one call of each benchmark that was timed, by id."""
    inspected: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The `extra_info` of the benchmarks that were only inspected, by id."""
    repeated: list[str] = field(default_factory=list)
    """Tests with several benchmarks, of which the first one counts."""
    _parts: list[tuple[str, dict[str, Any], dict[str, Any]]] = field(default_factory=list)
    """Of the running test's benchmarks: id, `extra_info`, and gnnbench's part of it."""
    _machine: "FakeMachine | None" = None
    _watch: "Watch | None" = None
    _theirs: list[tuple[type, str, Callable[..., Any]]] = field(default_factory=list)

    def install(self) -> None:
        """Replace pytest-benchmark's timing.

        Raises:
            UsageError: this version of pytest-benchmark has other private methods, or the value or file of
                GNNBENCH_FAKE_CLOCK cannot be used.
        """
        check_pytest_benchmark()
        if text := os.environ.get("GNNBENCH_FAKE_CLOCK"):
            from .simulated_clock import FakeMachine

            self._machine = FakeMachine.parse(text)
        from ..cpu import Watch

        self._watch = Watch()
        raw, pedantic = BenchmarkFixture._raw, BenchmarkFixture._raw_pedantic  # noqa: SLF001
        patch = self

        @wraps(raw)
        def _raw(self: Any, function_to_benchmark: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            settings = patch.settings
            if settings is None or not settings.apply_to(self):
                result = raw(self, function_to_benchmark, *args, **kwargs)
                if patch.weighing and not self.disabled:
                    patch._weigh(self, Call(function_to_benchmark, args, kwargs))
                return result
            return patch._measure(self, settings, Call(function_to_benchmark, args, kwargs))

        @wraps(pedantic)
        def _raw_pedantic(self: Any, target: Callable[..., Any], **options: Any) -> Any:
            settings = patch.settings
            if settings is None or not settings.apply_to(self) or not _valid(**options):
                return pedantic(self, target, **options)
            options["kwargs"] = options["kwargs"] or {}
            return patch._measure_pedantic(self, settings, Pedantic(target, **options))

        self._replace(BenchmarkFixture, "_raw", _raw)
        self._replace(BenchmarkFixture, "_raw_pedantic", _raw_pedantic)

    def _replace(self, owner: type, name: str, ours: Callable[..., Any]) -> None:
        self._theirs.append((owner, name, getattr(owner, name)))
        setattr(owner, name, ours)

    def remove(self) -> None:
        """Restore pytest-benchmark's methods."""
        while self._theirs:
            setattr(*self._theirs.pop())

    def ran_out_of_memory(self, fullname: str, text: str) -> None:
        """Record `text`, such as `OOM at 9 GiB`, as the error of an interrupted benchmark."""
        if not self.incomplete or self.incomplete[-1]["fullname"] != fullname:
            self.incomplete.append({"fullname": fullname, "measurement": None})
        self.incomplete[-1]["error"] = text

    @contextmanager
    def keeping_parts(self, definition: str | None) -> Iterator[None]:
        """Keep what is found of each benchmark of a test in its `extra_info`, whatever the test writes there.

        Args:
            definition: hash of the test's definition, which is added; None: it is known.
        """
        self._parts.clear()
        try:
            yield
        finally:
            for _, extra, ours in self._parts:
                extra[extra_info.KEY] = ours
                if definition:
                    ours["definition_hash"] = definition
            self.repeated += [name for name, *_ in self._parts[1:2]]

    def _part(self, fixture: Any) -> dict[str, Any]:
        """Return gnnbench's part of a benchmark's `extra_info`, to write to; another version is replaced."""
        if not isinstance(fixture.extra_info, dict):
            fixture.extra_info = {}
            if fixture.stats:  # which is what is saved
                fixture.stats.extra_info = fixture.extra_info
        ours = extra_info.part(fixture.extra_info)
        if ours.get("version") != self.version:
            ours = fixture.extra_info[extra_info.KEY] = {"version": self.version}
        self._parts.append((fixture.fullname, fixture.extra_info, ours))
        return ours

    def _measure(self, fixture: Any, settings: TimingSettings, call: Call) -> Any:
        if settings.inspect_only:
            self._part(fixture)
            self.inspected.setdefault(fixture.fullname, fixture.extra_info)
            if settings.whole_call:
                _why_not_inspected(fixture, settings.whole_call)
                return call()
            return self._inspect(fixture, Layouts(call))
        if settings.growth:
            return self._watch_growth(
                fixture, Pedantic(call.function, call.args, dict(call.kwargs), rounds=2), settings
            )
        from .sampler import Effort, sample

        with self._measuring(fixture, settings, call) as (layouts, clock, measurement, add):
            effort = Effort(
                precision=settings.precision,
                max_seconds=fixture._max_time if settings.max_seconds is None else settings.max_seconds,  # noqa: SLF001
                min_seconds=fixture._min_time,  # noqa: SLF001
                min_rounds=fixture._min_rounds,  # noqa: SLF001
                warmup_iterations=fixture._warmup or 1,  # noqa: SLF001
                disable_gc=fixture._disable_gc,  # noqa: SLF001
            )
            if settings.whole_call:
                result = sample_whole(layouts.original, clock, effort, measurement, add)
            else:
                sample(layouts, clock, effort, measurement, add)
        if settings.whole_call:
            _why_not_inspected(fixture, settings.whole_call)
        else:
            result = self._inspect(fixture, layouts, is_warm=True)
        return _profile(fixture, measurement.iterations, layouts.original) if fixture.cprofile else result

    def _watch_growth(self, fixture: Any, asked: Pedantic, settings: TimingSettings) -> Any:
        """Save what many calls leave behind, and return the result of one more."""
        from . import growth

        self.used = True
        devices = Layouts(Call(asked.target, asked.args, asked.kwargs)).devices
        clock = self._clock(fixture, devices, flush=False)
        seconds = array("d")  # no objects, which would be counted

        def call() -> float:
            inputs = asked.inputs()
            seconds.extend(clock.block(inputs, 1, 1).seconds)
            asked.tear_down(inputs)
            return seconds[-1]

        with PauseInstrumentation():
            if settings.whole_call:
                found = growth.left_out(why_unseen(settings.whole_call))
            else:
                found = growth.ONCE if asked.only_once else growth.watch(call)
        self._part(fixture)["growth"] = found
        if seconds and not fixture.disabled:
            fixture._make_stats(1)  # noqa: SLF001 - the run file has only what has statistics
            for one in seconds:
                fixture.stats.update(one)
        return asked.once()

    def _inspect(self, fixture: Any, layouts: Layouts, *, is_warm: bool = False) -> Any:
        """Add counters, fingerprint and growth of the resident set of a call, and return its result."""
        from .inspection import inspect

        ours = extra_info.part(fixture.extra_info)
        results = []
        with PauseInstrumentation():
            found = inspect(layouts.original, layouts.devices, is_warm=is_warm)
            growth = growth_bytes(lambda: results.append(layouts.original()))
        peak = None
        if found.counters:
            ours["counters"] = codec.encode(found.counters)
            peak = found.counters.details["memory"]["peak_bytes"]
        if growth is not None:
            ours["resident_growth_bytes"] = growth
        self.weighed[fixture.fullname] = Weight(peak, growth)
        if found.fingerprint:
            ours["fingerprint"] = codec.encode(found.fingerprint)
        elif found.unseen:
            ours["no_fingerprint"] = found.unseen
        return results[0]

    def _weigh(self, fixture: Any, call: Call) -> None:
        """Measure the memory of one call."""
        layouts = Layouts(call)
        with PauseInstrumentation():
            self.weighed[fixture.fullname] = weigh(layouts.original, layouts.devices)

    def _measure_pedantic(self, fixture: Any, settings: TimingSettings, asked: Pedantic) -> Any:
        if settings.inspect_only:
            self._part(fixture)
            self.inspected.setdefault(fixture.fullname, fixture.extra_info)
            return asked.once()
        if settings.growth:
            return self._watch_growth(fixture, asked, settings)
        settings = replace(settings, in_place=FIXED)
        call = Call(asked.target, asked.args, asked.kwargs)
        with self._measuring(fixture, settings, call) as (_, clock, measurement, add):
            measurement.iterations = asked.iterations
            result = asked.measure(clock, add, disable_gc=fixture._disable_gc)  # noqa: SLF001
            measurement.stopped_by = "rounds"
            if not measurement.rounds:
                raise ClockError(
                    f"none of {asked.rounds} rounds had a positive time on the clock {clock.name}"
                )
        extra_info.part(fixture.extra_info)["no_fingerprint"] = FIXED
        if fixture.cprofile:
            inputs = asked.inputs()
            _profile(fixture, asked.iterations, inputs, lambda: asked.tear_down(inputs))
        return result

    def _clock(self, fixture: Any, devices: Sequence[str], *, flush: bool) -> Clock:
        if self._machine:
            return self._machine.clock(fixture.fullname)
        return clock_for(devices, fixture._timer, flush=flush)  # noqa: SLF001

    @contextmanager
    def _measuring(
        self, fixture: Any, settings: TimingSettings, call: Call
    ) -> Iterator[tuple[Layouts, Clock, Measurement, Callable[[Any], None]]]:
        """Prepare the measurement of a call, and save its result, also if it is interrupted."""
        from ..cpu import UNWATCHED_CLOCKS

        self.used = True
        layouts = Layouts(call)
        flush = settings.flush and not settings.whole_call
        clock = self._clock(fixture, layouts.devices, flush=flush)
        asked = settings.in_place or settings.whole_call
        in_place = asked or (layouts.why_in_place() if settings.sample_layouts else "--gnn-layouts one")
        measurement = Measurement(clock.name, "one" if in_place else "sampled", in_place)
        measurement.whole_call = settings.whole_call

        def add(block: Any) -> None:
            seconds = measurement.add(block)
            if seconds and fixture.stats is None:
                fixture._make_stats(measurement.iterations)  # noqa: SLF001
            for one in seconds:
                fixture.stats.update(one)

        watch = None if clock.name in UNWATCHED_CLOCKS else self._watch
        if watch:
            watch.begin()
        start = clock.now()
        try:
            with PauseInstrumentation():
                yield layouts, clock, measurement, add
        except (Exception, KeyboardInterrupt) as error:
            # pytest-benchmark does not catch KeyboardInterrupt, and would report the rounds as complete.
            fixture.has_error = True
            self.failure = error
            text = ": ".join(filter(None, (type(error).__name__, str(error))))
            record = {"fullname": fixture.fullname, "error": text, "measurement": measurement.as_json()}
            self.incomplete.append(record)
            raise
        finally:
            self.timing_seconds += clock.now() - start
        measurement.not_copied = layouts.left
        if watch:
            measurement.contention_share = watch.contention_share()
        self._part(fixture)["measurement"] = measurement.as_json()


def check_pytest_benchmark() -> None:
    """Check that pytest-benchmark has the methods that this module relies on.

    Raises:
        UsageError: a method is missing or has other parameters.
    """
    for owner, methods in _PARAMETERS.items():
        for name, expected in methods.items():
            method = getattr(owner, name, None)
            found = tuple(inspect.signature(method).parameters) if method else None
            if found != expected:
                version = pytest_benchmark.__version__
                raise UsageError(
                    f"gnnbench cannot time with pytest-benchmark {version}: {owner.__name__}.{name} "
                    f"{'has other parameters' if method else 'does not exist'}; "
                    "pip install 'pytest-benchmark>=5.2,<6'"
                )


def _why_not_inspected(fixture: Any, reason: str) -> None:
    """Add why a call that is timed whole has no fingerprint, and what torch.compile did in it."""
    ours = extra_info.part(fixture.extra_info)
    ours["no_fingerprint"] = why_unseen(reason)
    if compiled := compilation.counts():
        ours["compilation"] = compiled


def _valid(*, rounds: Any, warmup_rounds: Any, iterations: Any, setup: Any, **_options: Any) -> bool:
    """Return whether pytest-benchmark accepts these options; if not, it reports the error itself."""
    numbers = (rounds, 1), (warmup_rounds, 0), (iterations, 1)
    if any(not isinstance(number, int) or number < least for number, least in numbers):
        return False
    return iterations == 1 or not setup


def _profile(fixture: Any, iterations: int, call: Call, after: Callable[[], None] = lambda: None) -> Any:
    """Call under cProfile, as pytest-benchmark does after timing."""
    profile = cProfile.Profile()
    result: Any = None
    for _ in range(iterations if fixture.cprofile_loops is None else fixture.cprofile_loops):
        with PauseInstrumentation():
            result = profile.runcall(call.function, *call.args, **call.kwargs)
        after()
    fixture._save_cprofile(profile)  # noqa: SLF001
    return result
