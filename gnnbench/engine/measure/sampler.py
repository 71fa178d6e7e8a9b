"""Times a call: warms up, calibrates the rounds, and times blocks until a stopping rule applies.

A block is a few rounds on one layout, a set of copies of the inputs at new addresses.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from .benchmark_fixture import Pedantic
from .clock import ROUND_SECONDS, Block, Call, Clock, calibrated_iterations, wanted_seconds
from .conditions import clear_compilations, collector_paused
from .estimate import JUDGED_LEVEL, block_values, estimate
from .layouts import Layouts
from .measurement import Measurement, StopReason

MAX_ROUNDS = 10
"""Largest number of rounds in a block: more would hardly change its median."""

_MIN_BLOCKS = 80
"""Number of blocks that a useful interval needs; slow benchmarks get fewer."""

_FEWEST_BLOCKS = 51
"""Precision is checked from this number of blocks on, because fewer blocks may not include rare layouts. Of
measurements with 15 blocks, 20 % include no layout of the fastest 10 %; of those with 51 blocks, 0.5 %."""

_CHECKS = {math.ceil(_FEWEST_BLOCKS * 1.25**number) for number in range(60)}
"""Numbers of blocks after which precision is checked. Checks after each block would stop the measurement when
the interval is narrow by chance."""

_PILOT_BLOCKS = 8
_PILOT_ROUNDS = 3
"""Rounds in each of the first blocks, the pilot: enough to estimate both variance components."""

_ROUNDS_PER_BUDGET = 2000
"""With a small time budget, rounds are so short that about this number fits into the budget."""

_WARM = 0.9
"""Warm-up ends when a call takes at least this fraction of the time of the fastest call so far."""


@dataclass(frozen=True)
class Effort:
    """Limits of the measurement of one benchmark."""

    precision: float
    """Stop at this half-width of the estimate's confidence interval, as a fraction of the estimate."""
    max_seconds: float
    """Time budget of the benchmark, including the copying of inputs."""
    min_seconds: float
    """Shortest time of a round."""
    min_rounds: int
    """Number of rounds that are timed in any case."""
    warmup_iterations: int = 1
    disable_gc: bool = False

    def reason_to_stop(self, blocks: Sequence[Sequence[float]], elapsed_seconds: float) -> StopReason | None:
        """Return the reason to stop after a block. Returns None if more blocks are needed."""
        if sum(map(len, blocks)) < self.min_rounds:
            return None
        if not elapsed_seconds < self.max_seconds:  # also stops if it is NaN
            return "time"
        is_checked = len(blocks) in _CHECKS
        if is_checked and estimate(block_values(blocks), JUDGED_LEVEL).half_width <= self.precision:
            return "precision"
        return None


def variance_components(blocks: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the variances of the logarithm of a round's time: between layouts, and within a layout.

    This is a one-way analysis of variance (Searle, Casella and McCulloch, Variance Components, 3.6) of the
    blocks with at least two rounds. A negative component is set to 0.
    """
    logs = [np.log(block) for block in blocks if len(block) > 1]
    if len(logs) < 2:  # noqa: PLR2004 - no variance between blocks
        return 0.0, 0.0
    within = float(np.mean([block.var(ddof=1) for block in logs]))
    size = float(np.mean([len(block) for block in logs]))
    between = float(np.var([block.mean() for block in logs], ddof=1)) - within / size
    return max(0.0, between), within


def rounds_per_block(
    pilot: Sequence[Sequence[float]], round_seconds: float, renewal_seconds: float, max_seconds: float
) -> int:
    """Return how many rounds to time on each layout.

    The variance of the mean at a given cost is smallest with sqrt(v_rounds / v_layouts * c_layout / c_round)
    rounds on each layout (Cochran, Sampling Techniques, 10.6).

    `max_seconds`: time budget, which limits the rounds so that there is time for enough blocks.
    """
    between, within = variance_components(pilot)
    if between:
        optimum = math.sqrt(within / between * renewal_seconds / round_seconds)
    else:
        optimum = MAX_ROUNDS if within else 1
    limit = (max_seconds / _MIN_BLOCKS - renewal_seconds) / round_seconds
    return round(max(min(optimum, limit, MAX_ROUNDS), 1))


@dataclass(frozen=True)
class Sampler:
    """Times a call until a stopping rule applies. The methods raise ClockError, and errors of the call."""

    clock: Clock
    """The clock of the inputs' device."""
    effort: Effort
    measurement: Measurement
    """Gets the number of iterations, the reason to stop, and whether the call writes to its inputs."""
    add: Callable[[Block], None]
    """Adds a block to the measurement."""

    def sample(self, layouts: Layouts) -> None:
        """Time a call. If the measurement samples layouts, each block gets new copies of the inputs.

        If the call runs out of memory before the first block, it is timed on the original inputs instead.
        """
        measurement, too_large = self.measurement, None
        try:
            self._sample(layouts)
        except Exception as error:
            if measurement.layouts != "sampled" or measurement.blocks_ns:
                raise
            from .memory import describe_out_of_memory, is_out_of_memory

            if not is_out_of_memory(error):
                raise
            too_large = f"no memory for copies of the inputs: {describe_out_of_memory(error)}"
        if too_large:  # outside the handler, because the error keeps the memory of the call alive
            layouts.drop_copies()
            measurement.layouts, measurement.in_place = "one", too_large
            self._sample(layouts)

    def _sample(self, layouts: Layouts) -> None:
        """Warm up, choose the iterations of a round, time a pilot (a few blocks), and time further blocks."""
        clock, effort, measurement = self.clock, self.effort, self.measurement
        start = clock.now()
        is_sampled = measurement.layouts == "sampled"
        if is_sampled:
            self._renew(layouts)
        has_written = layouts.watch_writes()
        clock.check(layouts.current)
        call_seconds = self._warm_up(layouts.current)
        measurement.changes_inputs = has_written()
        del has_written  # it would keep the inputs alive
        measurement.iterations = self._iterations(layouts.current, call_seconds)

        # The pilot, with the untimed call before each block, takes at most half of the time budget.
        pilot_seconds = call_seconds * (_PILOT_ROUNDS + 1) * _PILOT_BLOCKS
        rounds = _PILOT_ROUNDS if pilot_seconds < effort.max_seconds / 2 else 1
        renewals, renewal_seconds = 0, 0.0
        while measurement.stopped_by is None:
            # The first block is timed on the copies of the warm-up, unless the warm-up changed them.
            if is_sampled and (measurement.blocks_ns or measurement.changes_inputs):
                begin = clock.now()
                self._renew(layouts)
                clock.block(layouts.current, 1, 1)  # the first call on new buffers is slower
                renewals, renewal_seconds = renewals + 1, renewal_seconds + clock.now() - begin
            with collector_paused() if effort.disable_gc else nullcontext():
                block = clock.block(layouts.current, rounds, measurement.iterations)
            self.add(block)
            blocks = measurement.blocks_ns
            if len(blocks) == _PILOT_BLOCKS and rounds > 1:
                round_seconds = sum(map(sum, blocks)) * measurement.iterations / 1e9 / measurement.rounds
                rounds = rounds_per_block(
                    blocks, round_seconds, renewal_seconds / max(1, renewals), effort.max_seconds
                )
            measurement.stopped_by = effort.reason_to_stop(blocks, clock.now() - start)

    def whole(self, call: Call) -> Any:
        """Time calls that start processes or threads, each call as a round. Return the last result."""
        clock, effort, measurement = self.clock, self.effort, self.measurement
        calls, result = Pedantic.of(call), None
        start = clock.now()
        for _ in range(effort.warmup_iterations):
            calls.round(clock)
        while measurement.stopped_by is None:
            clear_compilations()  # so that the last call's counts remain
            block, result = calls.round(clock, disable_gc=effort.disable_gc)
            self.add(block)
            measurement.stopped_by = effort.reason_to_stop(measurement.blocks_ns, clock.now() - start)
        return result

    def _renew(self, layouts: Layouts) -> None:
        # Do not assign the returned call: copies that have another reference are not freed at once.
        layouts.renew()
        self.clock.inputs_moved()

    def _warm_up(self, call: Call) -> float:
        """Warm up; return the seconds of the fastest call, or 0 if no call took any time by the clock."""
        start = self.clock.now()
        fastest, calls = math.inf, 0
        while True:
            (seconds,) = self.clock.block(call, 1, 1).seconds
            calls += 1
            is_warm = seconds >= _WARM * fastest and calls >= self.effort.warmup_iterations
            if seconds > 0:
                fastest = min(fastest, seconds)
            is_late = self.clock.now() - start > self.effort.max_seconds / 2
            if is_warm or is_late or fastest == math.inf:
                return fastest if fastest < math.inf else 0.0

    def _iterations(self, call: Call, call_seconds: float) -> int:
        clock, effort = self.clock, self.effort
        usual = min(ROUND_SECONDS, effort.max_seconds / _ROUNDS_PER_BUDGET)
        round_seconds = wanted_seconds(clock, effort.min_seconds, usual)
        guess = math.ceil(round_seconds / call_seconds) if call_seconds > 0 else 10
        if guess <= 1:
            return 1
        return calibrated_iterations(
            lambda iterations: clock.block(call, 1, iterations).seconds[0], guess, round_seconds, clock
        )
