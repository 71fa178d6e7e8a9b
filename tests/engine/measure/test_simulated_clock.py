import pytest

from gnnbench.engine.measure.clock import Call
from gnnbench.engine.measure.simulated_clock import FakeMachine, Noise, Truth

QUIET = Noise(sigma=0, spike_probability=0, drift=0, overhead_seconds=0, renewal_seconds=0)
NOTHING = Call(int, (), {})


def clock_of(noise=QUIET, seed=1):
    return FakeMachine(seed, {"test_a": Truth(1e-3)}, noise).clock("file.py::test_a")


def test_without_noise_the_truth_is_read_and_the_call_is_made_once_a_round():
    calls, clock = [], clock_of()
    assert clock.block(Call(calls.append, (1,), {}), 2, 3).seconds == [3e-3, 3e-3]
    assert clock.now() == pytest.approx(6e-3)
    assert len(calls) == 2


def test_noise_is_the_same_for_the_same_seed_only():
    noise = Noise(drift=0)
    first, again, other = (clock_of(noise, seed).block(NOTHING, 9, 1).seconds for seed in (1, 1, 2))
    assert first == again != other


def test_drift_is_shared_and_has_its_period():
    machine = FakeMachine(5, {"test_a": Truth(0.5), "test_b": Truth(0.5)}, Noise(0, 0, 0, 1, 0.2))
    one, other = machine.clock("test_a"), machine.clock("test_b")
    found = [clock.block(NOTHING, 1, 1).seconds[0] for _ in range(150) for clock in (one, other)]
    assert max(found) == pytest.approx(0.6, rel=0.01)
    assert min(found) == pytest.approx(0.4, rel=0.01)
    assert machine.drift(10) == pytest.approx(machine.drift(70))
