import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from gnnbench.measure import estimate as location
from gnnbench.measure.clock import Block, Call, ClockError, HostClock
from gnnbench.measure.layouts import Layouts
from gnnbench.measure.measurement import Measurement
from gnnbench.measure.sampler import Effort, sample
from gnnbench.measure.simulated_clock import FakeMachine, Noise, Truth
from tests.sampling import nightly

EFFORT = Effort(precision=0.02, max_seconds=1.0, min_seconds=5e-6, min_rounds=5)


class Nowhere(Layouts):
    """Inputs without tensors, so that a thousand runs take seconds."""

    def renew(self):
        return self.current


def run(clock, effort=EFFORT, inputs=None, measurement=None):
    measurement = measurement or Measurement(clock.name, "sampled")
    sample(inputs or Nowhere(Call(int, (), {})), clock, effort, measurement, measurement.add)
    return measurement


def fake(truth, seed=0, noise=None):
    return FakeMachine(seed, {"test": truth}, noise or Noise()).clock("test")


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
        expected = values[order][rank]
        interval = location.estimate(location.block_values(found.blocks_ns), location.JUDGED_LEVEL)
        held += interval.low <= expected <= interval.high
    assert held >= 0.98 * runs


def test_the_budget_is_spent_where_the_precision_is_not_reached():
    clock = fake(Truth(1e-3))
    found = run(clock, Effort(1e-6, 1.0, 5e-6, 5))
    assert found.stopped_by == "time"
    assert 1.0 <= clock.now() < 1.1


def test_a_quiet_benchmark_ends_early():
    clock = fake(Truth(1e-3), noise=Noise(sigma=0.005, drift=0))
    found = run(clock, Effort(0.02, 10.0, 5e-6, 5))
    assert found.stopped_by == "precision"
    assert clock.now() < 5.0
    assert location.estimate(location.block_values(found.blocks_ns)).location == pytest.approx(1e6, rel=0.02)


def test_a_slow_benchmark_has_its_least_rounds_and_no_more():
    clock = fake(Truth(2.0))
    found = run(clock)
    assert found.rounds == 5
    assert found.stopped_by == "time"


def test_a_fast_benchmark_has_rounds_of_many_calls():
    found = run(fake(Truth(1e-7), noise=Noise(drift=0)))
    assert 1000 < found.iterations < 20_000
    assert location.estimate(location.block_values(found.blocks_ns)).location == pytest.approx(
        88, rel=0.05
    )  # the first decile of 100 ns with 10 % noise


def test_where_layouts_do_not_vary_blocks_are_long_and_where_only_they_vary_short():
    same = run(fake(Truth(1e-4), noise=Noise(autocorrelation=0, drift=0, renewal_seconds=5e-3)))
    apart = Truth(1e-4, tuple((1 + number / 10, 0.1) for number in range(10)))
    varied = run(fake(apart, noise=Noise(0.01, 0, 0, drift=0, renewal_seconds=5e-3)))
    assert len(same.blocks_ns[-1]) > len(varied.blocks_ns[-1])


def test_one_layout_is_never_renewed():
    x = torch.ones(3)
    seen = set()
    layouts = Layouts(Call(lambda x: seen.add(x.data_ptr()), (x,), {}))
    run(fake(Truth(0.1)), inputs=layouts, measurement=Measurement("fake", "one"))
    assert seen == {x.data_ptr()}


def test_writing_to_inputs_is_noted():
    for function, writes in ((torch.neg, False), (torch.neg_, True)):
        layouts = Layouts(Call(function, (torch.ones(3),), {}))
        assert run(fake(Truth(0.1)), inputs=layouts).changes_inputs is writes


@pytest.mark.parametrize(("function", "layouts_of_five"), [(torch.neg, 5), (torch.neg_, 6)])
def test_the_first_block_is_timed_on_the_copies_of_the_warm_up_unless_it_changed_them(
    function, layouts_of_five
):
    seen = []

    def call(x):
        if x.data_ptr() not in seen:
            seen.append(x.data_ptr())
        function(x)

    layouts = Layouts(Call(call, (torch.ones(30_000),), {}))
    assert layouts.why_in_place() is None
    assert len(run(fake(Truth(2.0)), inputs=layouts).blocks_ns) == 5
    assert len(seen) == layouts_of_five


def test_what_was_measured_before_an_error_is_kept():
    calls = itertools.count()

    def fails():
        if next(calls) == 30:
            raise ValueError("enough")

    measurement = Measurement("fake", "sampled")
    with pytest.raises(ValueError, match="enough"):
        run(fake(Truth(0.01)), inputs=Nowhere(Call(fails, (), {})), measurement=measurement)
    assert measurement.rounds > 5
    assert measurement.stopped_by is None


class Jumping:
    """A clock that is set back in every third round, and far forward once."""

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
            jump = -5.0 if self.rounds % 3 == 0 else 3600.0 if self.rounds == 50 else 0.0
            seconds.append(1e-3 * iterations + jump)
        return Block(seconds)

    def renewed(self):
        pass

    def check(self, call):
        pass


def test_clock_jumps_are_left_out_and_counted():
    found = run(Jumping())
    assert found.rejected_rounds > 5
    assert location.estimate(location.block_values(found.blocks_ns)).location == pytest.approx(1e6)


def test_a_call_shorter_than_any_clock_can_see_is_an_error():
    class Stuck(Jumping):
        def block(self, _call, rounds, _iterations):
            return Block([0.0] * rounds)

    with pytest.raises(ClockError, match=r"10,000,000 calls are too short for the resolution of jumping"):
        run(Stuck())


def test_a_clock_that_only_runs_backwards_is_an_error():
    class Backwards(Jumping):
        def block(self, _call, rounds, _iterations):
            self.rounds += rounds
            return Block([1e-3] * rounds if self.rounds < 10 else [-1.0] * rounds)

    with pytest.raises(ClockError, match=r"1\d\d rounds had no positive time by jumping"):
        run(Backwards(), Effort(0.02, 1.0, 1e-4, 5))


def test_renewed_copies_are_freed_without_the_collector(monkeypatch):
    """It takes a quarter of a second where torch is loaded, out of the benchmark's budget."""
    runs = []
    monkeypatch.setattr("gnnbench.measure.layouts.gc.collect", lambda: runs.append(1))
    layouts = Layouts(Call(torch.neg, (torch.ones(1000),), {}))
    assert layouts.why_in_place() is None
    assert len(run(HostClock.of(), Effort(0.0001, 0.2, 5e-6, 5), layouts).blocks_ns) > 20
    assert not runs


def test_where_memory_is_too_short_beside_copies_the_inputs_stay():
    """The call was checked before: it is the copies that it does not fit beside."""
    x = torch.ones(1000)

    def call(given):
        if given.data_ptr() != x.data_ptr():
            raise RuntimeError(
                "CUDA out of memory. Tried to allocate 22.78 GiB. GPU 0 has a total capacity of"
            )
        return given + 1

    layouts = Layouts(Call(call, (x,), {}))
    measurement = run(HostClock.of(), replace(EFFORT, max_seconds=0.01), layouts)
    assert measurement.layouts == "one"
    assert measurement.in_place == "too large to be called beside copies: OOM at 22.8 GiB"
    assert measurement.rounds >= EFFORT.min_rounds
    assert measurement.stopped_by


def test_a_call_that_never_fits_runs_out_of_memory():
    def call(_given):
        raise RuntimeError("CUDA out of memory. Tried to allocate 22.78 GiB.")

    with pytest.raises(RuntimeError, match="CUDA out of memory"):
        run(HostClock.of(), inputs=Layouts(Call(call, (torch.ones(9),), {})))
