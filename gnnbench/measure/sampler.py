"""Times a call: warms up, sizes rounds, and measures blocks, each on a new layout, until told to stop."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

from .clock import Block, Call, Clock, ClockError
from .garbage import collector_paused
from .layouts import Layouts
from .measurement import Measurement
from .stopping import Stopping, rounds_per_block

_PILOT_BLOCKS = 8
_PILOT_ROUNDS = 3
"""Enough to tell what rounds vary from what layouts vary."""

_ROUND_SECONDS = 5e-4
"""Of a round at least, so that files stay small and a round's own cost vanishes; less for a small budget."""
_ROUNDS_PER_BUDGET = 2000

_RESOLUTIONS = 100
"""A round is at least so many steps of its clock."""

_MAX_ITERATIONS = 10_000_000
_MAX_REJECTED = 100
"""Rounds without a positive time, beyond as many with one, after which a clock is given up."""

_SETTLED = 0.9
"""Warm-up ends with a call that took at least this part of the fastest before it."""


@dataclass(frozen=True)
class Effort:
    """What may be spent on a benchmark."""

    precision: float
    """Half-width of the location's interval at which to stop, as a fraction."""
    max_seconds: float
    min_seconds: float
    """Of a round."""
    min_rounds: int
    warmup_iterations: int = 1
    disable_gc: bool = False


def sample(
    layouts: Layouts,
    clock: Clock,
    effort: Effort,
    measurement: Measurement,
    add: Callable[[Block], None],
) -> None:
    """Measure until the stopping rule says so.

    Args:
        layouts: the inputs; renewed before each block where the measurement says that layouts are sampled.
        clock: of the inputs' device.
        effort: bounds.
        measurement: what is known so far.
        add: takes each block into the measurement.

    Where memory is too short for the call beside the first copies of its inputs, it is timed on the inputs
    themselves.

    Raises:
        ClockError: the clock cannot see the call.
        Exception: what the call raises.
    """
    too_large = None
    try:
        _sample(layouts, clock, effort, measurement, add)
    except Exception as error:
        if measurement.layouts != "sampled" or measurement.blocks_ns:
            raise
        from .memory import describe_out_of_memory, is_out_of_memory

        if not is_out_of_memory(error):
            raise
        too_large = f"too large to be called beside copies: {describe_out_of_memory(error)}"
    if too_large:  # outside of the handler, whose error holds what the call had made
        layouts.stay()
        measurement.layouts, measurement.in_place = "one", too_large
        _sample(layouts, clock, effort, measurement, add)


def _sample(
    layouts: Layouts,
    clock: Clock,
    effort: Effort,
    measurement: Measurement,
    add: Callable[[Block], None],
) -> None:
    stopping = Stopping(effort.precision, effort.max_seconds, effort.min_rounds)
    start = clock.now()
    sampled = measurement.layouts == "sampled"
    if sampled:
        _renew(layouts, clock)
    written = layouts.watch()
    clock.check(layouts.current)
    call_seconds = _warm_up(layouts.current, clock, effort)
    measurement.changes_inputs = written()
    del written  # which holds the inputs
    measurement.iterations = _iterations(layouts.current, call_seconds, clock, effort)
    # With the untimed call before each block the pilot may take half of the budget.
    pilot_seconds = call_seconds * (_PILOT_ROUNDS + 1) * _PILOT_BLOCKS
    rounds = _PILOT_ROUNDS if pilot_seconds < effort.max_seconds / 2 else 1
    renewal_seconds = 0.0
    while measurement.stopped_by is None:
        begin = clock.now()
        if sampled:
            _renew(layouts, clock)
            clock.block(layouts.current, 1, 1)  # the first call on new buffers is slower
        ready = clock.now()
        with collector_paused() if effort.disable_gc else nullcontext():
            block = clock.block(layouts.current, rounds, measurement.iterations)
        renewal_seconds += ready - begin
        add(block)
        if measurement.rejected_rounds > measurement.rounds + _MAX_REJECTED:
            raise ClockError(
                f"{measurement.rejected_rounds} rounds had no positive time by {clock.name}, "
                f"{measurement.rounds} had one: is a clock being set?"
            )
        blocks = measurement.blocks_ns
        if len(blocks) == _PILOT_BLOCKS and rounds > 1:
            round_seconds = sum(map(sum, blocks)) * measurement.iterations / 1e9 / measurement.rounds
            rounds = rounds_per_block(
                blocks, round_seconds, renewal_seconds / _PILOT_BLOCKS, effort.max_seconds
            )
        measurement.stopped_by = stopping.reason(blocks, measurement.rounds, clock.now() - start)


def _renew(layouts: Layouts, clock: Clock) -> None:
    # Nobody keeps the call: copies that are still in use are not freed, but looked for by the collector.
    layouts.renew()
    clock.renewed()


def _warm_up(call: Call, clock: Clock, effort: Effort) -> float:
    """Call until times settle, and return the fastest in seconds; zero where the clock saw nothing."""
    start = clock.now()
    fastest, calls = math.inf, 0
    while True:
        (seconds,) = clock.block(call, 1, 1).seconds
        calls += 1
        settled = seconds >= _SETTLED * fastest and calls >= effort.warmup_iterations
        if seconds > 0:
            fastest = min(fastest, seconds)
        if settled or clock.now() - start > effort.max_seconds / 2 or fastest == math.inf:
            return fastest if fastest < math.inf else 0.0


def _iterations(call: Call, call_seconds: float, clock: Clock, effort: Effort) -> int:
    """Choose how many calls make a round."""
    wanted = max(
        effort.min_seconds,
        _RESOLUTIONS * clock.resolution_seconds,
        min(_ROUND_SECONDS, effort.max_seconds / _ROUNDS_PER_BUDGET),
    )
    iterations = math.ceil(wanted / call_seconds) if call_seconds > 0 else 10
    while True:
        if iterations <= 1:
            return 1
        iterations = min(iterations, _MAX_ITERATIONS)
        (seconds,) = clock.block(call, 1, iterations).seconds
        if seconds >= wanted / 2 or (iterations == _MAX_ITERATIONS and seconds > 0):
            return iterations
        if iterations == _MAX_ITERATIONS:
            raise ClockError(
                f"{iterations:,} calls took no time that {clock.name} can see: "
                "let one call do more, or choose a finer clock with --benchmark-timer"
            )
        # Towards a round of the length wanted, but not by more than tenfold on one reading.
        growth = min(10.0, wanted / seconds) if seconds > 0 else 10.0
        iterations = math.ceil(iterations * max(growth, 1.2))
