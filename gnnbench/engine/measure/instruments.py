"""What measures inside of `benchmark` in a session of pytest: time, or an inspection alone."""

import cProfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..ground import cpu, json_io
from ..interfaces import Instrument
from . import compilation
from .clock import Block, Call, Clock, ClockError
from .kept import Kept
from .layouts import Layouts
from .measurement import Measurement
from .seam import FIXED, Pedantic, paused, why_unseen

if TYPE_CHECKING:
    from .sampler import Effort


@dataclass(frozen=True)
class TimeInstrument(Instrument):
    """Times a benchmark, and then inspects it."""

    kept: Kept
    sample_layouts: bool
    """Whether the inputs are re-allocated between blocks of rounds."""
    precision: float
    """Timing stops at this half-width of the interval, a fraction of the time."""
    flush: bool
    """Whether the GPU's L2 cache is flushed before each round."""
    in_place: str | None = None
    """Reason of the `in_place` marker; the inputs are not copied then."""
    whole_call: str | None = None
    """Reason of the `whole_call` marker; see `Sampler.whole`."""
    max_seconds: float | None = None
    """Time for this benchmark; None: that of `--benchmark-max-time` or of its marker."""

    def measure(self, fixture: Any, call: Call) -> Any:
        """Time rounds of any number, and inspect a call; of one that is timed whole, its workers' memory."""
        from .sampler import Sampler

        with self._measuring(fixture, call, self.in_place) as (layouts, clock, measurement, add):
            sampler = Sampler(clock, self._effort(fixture), measurement, add)
            if self.whole_call:
                result = sampler.whole(layouts.original)
            else:
                sampler.sample(layouts)
        if self.whole_call:
            ours = json_io.own_part(fixture.extra_info)
            ours["no_fingerprint"] = why_unseen(self.whole_call)
            if compiled := compilation.counts():
                ours["compilation"] = compiled
            self.kept.weigh_workers(fixture, layouts.original)
        else:
            result = self.kept.inspect(fixture, layouts, is_warm=True)
        return _cprofile(fixture, measurement.iterations, layouts.original) if fixture.cprofile else result

    def measure_pedantic(self, fixture: Any, asked: Pedantic) -> Any:
        """Time the rounds that are asked for."""
        call = Call(asked.target, asked.args, asked.kwargs)
        with self._measuring(fixture, call, FIXED) as (_, clock, measurement, add):
            measurement.iterations = asked.iterations
            result = asked.measure(clock, add, disable_gc=fixture._disable_gc)  # noqa: SLF001
            measurement.stopped_by = "rounds"
            if not measurement.rounds:
                raise ClockError(
                    f"none of {asked.rounds} rounds had a positive time on the clock {clock.name}"
                )
        json_io.own_part(fixture.extra_info)["no_fingerprint"] = FIXED
        if fixture.cprofile:
            inputs = asked.inputs()
            _cprofile(fixture, asked.iterations, inputs, lambda: asked.tear_down(inputs))
        return result

    def _effort(self, fixture: Any) -> "Effort":
        from .sampler import Effort

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
        """Prepare the measurement of a call, and save its result, also if it is interrupted."""
        kept = self.kept
        kept.used = True
        layouts = Layouts(call)
        clock = kept.clock(fixture, layouts.devices, flush=self.flush and not self.whole_call)
        in_place = in_place or self.whole_call
        if not in_place:
            in_place = layouts.why_in_place() if self.sample_layouts else "--gnn-layouts one"
        measurement = Measurement(clock.name, "one" if in_place else "sampled", in_place)
        measurement.whole_call = self.whole_call

        def add(block: Block) -> None:
            seconds = measurement.add(block)
            if seconds and fixture.stats is None:
                fixture._make_stats(measurement.iterations)  # noqa: SLF001
            for one in seconds:
                fixture.stats.update(one)

        watch = None if clock.name in cpu.UNWATCHED_CLOCKS else kept.watch
        if watch:
            watch.begin()
        start = clock.now()
        try:
            with paused():
                yield layouts, clock, measurement, add
        except (Exception, KeyboardInterrupt) as error:
            # pytest-benchmark does not catch KeyboardInterrupt, and would report the rounds as complete.
            fixture.has_error = True
            kept.failure = error
            text = ": ".join(filter(None, (type(error).__name__, str(error))))
            record = {"fullname": fixture.fullname, "error": text, "measurement": measurement.as_json()}
            kept.incomplete.append(record)
            raise
        finally:
            kept.timing_seconds += clock.now() - start
        measurement.not_copied = layouts.left
        if watch:
            measurement.contention_share = watch.contention_share()
        kept.part(fixture)["measurement"] = measurement.as_json()


def _cprofile(fixture: Any, iterations: int, call: Call, after: Callable[[], None] = lambda: None) -> Any:
    """Call under cProfile, as pytest-benchmark does after timing."""
    profile = cProfile.Profile()
    result: Any = None
    for _ in range(iterations if fixture.cprofile_loops is None else fixture.cprofile_loops):
        with paused():
            result = profile.runcall(call.function, *call.args, **call.kwargs)
        after()
    fixture._save_cprofile(profile)  # noqa: SLF001
    return result
