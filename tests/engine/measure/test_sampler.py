import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.measure import estimate as location
from gnnbench.engine.measure import sampler
from gnnbench.engine.measure.clock import Block, Call, Clock, ClockError, HostClock
from gnnbench.engine.measure.instruments import LEAST_SECONDS, TimeBudget
from gnnbench.engine.measure.layouts import Layouts
from gnnbench.engine.measure.measurement import Measurement
from gnnbench.engine.measure.sampler import (
    MAX_ROUNDS,
    Effort,
    Sampler,
    rounds_per_block,
)
from gnnbench.engine.measure.simulated_clock import FakeMachine, Noise, Truth
from tests.sampling import nightly

EFFORT = Effort(precision=0.02, max_seconds=1.0, min_seconds=5e-6, min_rounds=5)
BLOCKS = st.lists(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=5), min_size=1, max_size=60)
SECONDS = st.floats(1e-9, 1e3)


class Nowhere(Layouts):
    """Inputs without tensors, so that a thousand runs take seconds."""

    def renew(self):
        return self.current


def run(clock, effort=EFFORT, inputs=None, measurement=None):
    measurement = measurement or Measurement(clock.name, "sampled")
    Sampler(clock, effort, measurement, measurement.add).sample(inputs or Nowhere(Call(int, (), {})))
    return measurement


def layouts(function, *inputs):
    return Layouts(Call(function, inputs or (torch.ones(1000),), {}))


def fake(truth, noise=None):
    return FakeMachine(0, {"test": truth}, noise or Noise()).clock("test")


def located(measurement, level=location.SHOWN_LEVEL):
    return location.estimate(location.block_values(measurement.blocks_ns), level)


def noise_of_blocks(rounds, noise, random, count=1500):
    """Return values of blocks [count] of so many rounds as the noise alone makes them."""
    rho = noise.autocorrelation
    logs = np.empty((count, rounds))
    logs[:, 0] = random.normal(0, noise.sigma, count)
    for number in range(1, rounds):
        steps = random.normal(0, noise.sigma * math.sqrt(1 - rho**2), count)
        logs[:, number] = rho * logs[:, number - 1] + steps
    spikes = np.where(random.random((count, rounds)) < noise.spike_probability, noise.spike_factor, 1)
    return np.median(np.exp(logs) * spikes, axis=1)


@pytest.mark.parametrize(
    ("share", "runs"), [(0.5, 50), *(nightly(pytest.param(share, 334)) for share in (0.2, 0.5, 0.8))]
)
def test_intervals_cover_the_location_over_the_window_that_was_measured(share, runs):
    """The 99 % interval in at least 98 %."""
    truth = Truth(1e-3, ((1.0, share), (2.0, 1 - share)))
    random = np.random.default_rng(0)
    held = 0
    tables = {rounds: noise_of_blocks(rounds, Noise(), random) for rounds in range(1, 11)}
    for seed in range(runs):
        machine = FakeMachine(seed, {"test": truth})
        found = run(machine.clock("test"))
        window = [machine.drift(moment) for moment in np.linspace(0, machine.now_seconds, 25)]
        # Most blocks have as many rounds as the last one: the pilot's few do not count.
        noise = tables[len(found.blocks_ns[-1])]
        values = np.concatenate([np.outer(factor * noise, window).ravel() for factor in (1, 2)]) * 1e6
        weights = np.repeat([share, 1 - share], values.size // 2)
        order = np.argsort(values)
        rank = np.searchsorted(np.cumsum(weights[order]) / weights.sum(), location.QUANTILE)
        interval = located(found, location.JUDGED_LEVEL)
        held += interval.low <= values[order][rank] <= interval.high
    assert held >= 0.98 * runs


def test_the_budget_is_spent_where_the_precision_is_not_reached():
    clock = fake(Truth(1e-3))
    assert run(clock, Effort(1e-6, 1.0, 5e-6, 5)).stopped_by == "time"
    assert 1.0 <= clock.now() < 1.1


def test_a_slow_benchmark_has_its_least_rounds_and_a_fast_one_rounds_of_many_calls():
    found = run(fake(Truth(2.0)))
    assert (found.rounds, found.stopped_by) == (5, "time")
    found = run(fake(Truth(1e-7), noise=Noise(drift=0)))
    assert 1000 < found.iterations < 20_000
    assert located(found).location == pytest.approx(88, rel=0.05)  # first decile of 100 ns with 10 % noise


def test_where_layouts_do_not_vary_blocks_are_long_and_where_only_they_vary_short():
    same = run(fake(Truth(1e-4), noise=Noise(autocorrelation=0, drift=0, renewal_seconds=5e-3)))
    apart = Truth(1e-4, tuple((1 + number / 10, 0.1) for number in range(10)))
    varied = run(fake(apart, noise=Noise(0.01, 0, 0, drift=0, renewal_seconds=5e-3)))
    assert len(same.blocks_ns[-1]) > len(varied.blocks_ns[-1])


@pytest.mark.parametrize(("function", "writes"), [(torch.neg, False), (torch.neg_, True)])
def test_the_first_block_is_timed_on_the_copies_of_the_warm_up_unless_it_changed_them(function, writes):
    seen = {}

    def call(x):
        seen[x.data_ptr()] = function(x)

    inputs = layouts(call, torch.ones(30_000))
    assert inputs.why_in_place() is None
    found = run(fake(Truth(2.0)), inputs=inputs)
    assert found.changes_inputs is writes
    assert (len(found.blocks_ns), len(seen)) == (5, 6 if writes else 5)
    seen.clear()
    run(fake(Truth(0.1)), inputs=layouts(call), measurement=Measurement("fake", "one"))
    assert len(seen) == 1, "one layout is never renewed"


class Jumping(Clock):
    """A clock that is set far forward once."""

    name = "jumping"
    resolution_seconds = 1e-9

    def __init__(self):
        self.rounds = 0

    def now(self):
        return self.rounds * 1e-3

    def block(self, _call, rounds, iterations):
        seconds = []
        for _ in range(rounds):
            self.rounds += 1
            jump = 3600.0 if self.rounds == 50 else 0.0
            seconds.append(1e-3 * iterations + jump)
        return Block(seconds)


class Stuck(Jumping):
    def block(self, _call, rounds, _iterations):
        return Block([0.0] * rounds)


def test_a_clock_that_jumps_ahead_changes_no_estimate():
    assert located(run(Jumping())).location == pytest.approx(1e6)


def test_a_clock_that_sees_nothing_is_an_error():
    with pytest.raises(ClockError, match="10,000,000 calls are too short for the resolution of jumping"):
        run(Stuck(), Effort(0.02, 1.0, 1e-4, 5))


def test_renewed_copies_are_freed_without_the_collector(monkeypatch):
    """It takes a quarter of a second where torch is loaded, out of the benchmark's budget."""
    runs = []
    monkeypatch.setattr("gnnbench.engine.measure.layouts.gc.collect", lambda: runs.append(1))
    inputs = layouts(torch.neg)
    assert inputs.why_in_place() is None
    assert len(run(HostClock.of(), Effort(0.0001, 0.2, 5e-6, 5), inputs).blocks_ns) > 20
    assert not runs


def test_where_memory_is_too_short_beside_copies_the_inputs_stay():
    """The call was checked before: it is the copies that it does not fit beside."""
    x, places = torch.ones(1000), set()

    def call(given):
        if given.data_ptr() not in places:
            raise RuntimeError("CUDA out of memory. Tried to allocate 22.78 GiB.")

    with pytest.raises(RuntimeError, match="CUDA out of memory"):
        run(HostClock.of(), inputs=layouts(call, x))
    places.add(x.data_ptr())
    found = run(HostClock.of(), replace(EFFORT, max_seconds=0.01), layouts(call, x))
    assert found.layouts == "one"
    assert found.in_place == "no memory for copies of the inputs: OOM at 22.8 GiB"
    assert found.rounds >= EFFORT.min_rounds
    assert found.stopped_by


def test_effort_goes_where_variance_is_and_cost_is_not(monkeypatch):
    def rounds(between, within, renewal_seconds):
        monkeypatch.setattr(sampler, "variance_components", lambda _: (between, within))
        return rounds_per_block([], 1.0, renewal_seconds, 1e6)

    assert rounds(1, 4, 1) == 2
    assert rounds(1, 4, 9) == 6
    assert rounds(4, 1, 1) == 1, "at least one"
    assert rounds(0, 1, 1) == MAX_ROUNDS
    assert rounds(0, 0, 1) == 1


@given(BLOCKS, SECONDS, SECONDS, SECONDS)
def test_rounds_of_a_block_are_within_bounds(blocks, round_seconds, renewal_seconds, max_seconds):
    assert 1 <= rounds_per_block(blocks, round_seconds, renewal_seconds, max_seconds) <= MAX_ROUNDS


def test_a_clock_that_gives_no_number_ends_it():
    assert EFFORT.reason_to_stop([[1.0] * EFFORT.min_rounds], math.nan) == "time"


def test_precision_ends_it_once_it_is_reached_and_not_before():
    random = np.random.default_rng(1)
    effort, blocks = Effort(0.02, 1e9, 0.0, 5), []
    while effort.reason_to_stop(blocks, 0.0) is None:
        blocks.append([float(np.exp(random.normal(0, 0.05)))])
    assert 20 < len(blocks) < 1000
    assert location.estimate(location.block_values(blocks)).half_width <= 0.02


def test_each_benchmark_gets_an_equal_part_of_what_is_left_without_its_set_up():
    budget = TimeBudget(100.0, 5)
    assert budget.next_seconds() == 20
    budget.spend(20, 18)  # with 2 s of set-up
    assert budget.next_seconds() == 80 / 4 - 2
    budget.spend(5, 3)  # was precise early
    assert budget.next_seconds() == 75 / 3 - 2
    budget.spend(65, 13)  # was slow, and compiled
    assert budget.next_seconds() == 10 / 2 - 2
    budget.spend(9, 8)
    assert budget.next_seconds() == LEAST_SECONDS
