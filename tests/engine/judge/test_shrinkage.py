import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.judge.groups import process_variance
from gnnbench.engine.judge.shrinkage import independent_benchmarks


def estimate(*sides, noise=0.0):
    return process_variance(sides, np.full(sides[0].shape[1], noise))


def test_equal_benchmarks_know_their_variance_together():
    random = np.random.default_rng(1)
    found = estimate(random.normal(0, 0.02, (5, 200)))
    assert np.sqrt(found.variance) == pytest.approx(0.02, rel=0.15)
    assert (found.degrees_of_freedom == 30).all()  # never more is claimed
    assert (found.own_freedom == 4).all()


def test_a_benchmark_that_is_much_noisier_keeps_some_of_its_own():
    random = np.random.default_rng(2)
    scales = np.where(np.arange(60) % 3 == 0, 0.1, 0.01)
    found = np.sqrt(estimate(random.normal(0, 1, (8, 60)) * scales).variance)
    assert np.median(found[scales == 0.1]) > 4 * np.median(found[scales == 0.01])


def test_noise_within_is_expected_and_not_taken_for_what_processes_add():
    random = np.random.default_rng(3)
    noise = np.where(np.arange(100) < 50, 0.05, 0.01)
    logs = random.normal(0, np.sqrt(noise**2 + 0.01**2), (5, 100))
    found = np.sqrt(process_variance([logs], noise**2).variance)
    assert np.median(found[:50]) == pytest.approx(0.051, rel=0.1)
    assert np.median(found[50:]) == pytest.approx(0.014, rel=0.3)


def test_processes_that_are_off_together_are_few_numbers():
    random = np.random.default_rng(6)
    together = random.normal(0, 0.1, (5, 1)) + random.normal(0, 0.001, (5, 100))
    assert estimate(together).degrees_of_freedom.max() < 8
    assert independent_benchmarks([together], np.ones(100)) < 2
    apart = random.normal(0, 1, (5, 100))
    assert independent_benchmarks([apart], np.ones(100)) > 50
    # Processes that ran a few of them have no say.
    few = np.full((3, 100), np.nan)
    few[:, :3] = together[:3, :3]
    assert independent_benchmarks([apart, np.concatenate([apart[:1], few])], np.ones(100)) > 50


def test_few_benchmarks_have_nothing_to_borrow_and_one_process_on_each_side_knows_nothing():
    found = estimate(np.zeros((1, 5)), np.ones((1, 5)))
    assert (found.degrees_of_freedom == 0).all()
    assert np.isnan(found.variance).all()
    found = estimate(np.array([[0.0, 1.0], [0.2, 1.1]]))
    assert found.variance == pytest.approx([0.02, 0.005])
    assert (found.degrees_of_freedom == 1).all()


def test_a_benchmark_with_one_process_borrows_everything():
    logs = np.random.default_rng(7).normal(0, 0.02, (5, 50))
    logs[1:, 0] = np.nan
    found = estimate(logs)
    assert found.own_freedom[0] == 0
    assert np.sqrt(found.variance[0]) == pytest.approx(0.02, rel=0.2)
    assert found.degrees_of_freedom[0] > 10


@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(1, 12), st.floats(0, 0.5))
def test_it_is_always_a_variance(seed, processes, benchmarks, missing):
    random = np.random.default_rng(seed)
    together = random.normal(0, 1, (processes, 1))
    logs = together + random.normal(0, random.uniform(1e-4, 1), (processes, benchmarks))
    logs[random.random(logs.shape) < missing] = np.nan
    found = estimate(logs)
    known = found.degrees_of_freedom > 0
    assert (found.variance[known] >= 0).all()
    assert (found.degrees_of_freedom[known] >= found.own_freedom[known]).all()
