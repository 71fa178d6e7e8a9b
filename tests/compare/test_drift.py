import math

import numpy as np
import pytest

from gnnbench.compare import drift


def machine(random, processes, benchmarks=40, amplitude=0.2, noise=0.01):
    """Processes under a sinusoid of sixty benchmarks, each with a phase of its own."""
    phases = random.uniform(0, 2 * np.pi, (processes, 1))
    shared = amplitude * np.sin(2 * np.pi * np.arange(benchmarks) / 60 + phases)
    return shared, shared + random.normal(0, noise, shared.shape) + np.linspace(0, 9, benchmarks)


def test_a_drift_that_all_share_is_taken_out():
    random = np.random.default_rng(1)
    _, logs = machine(random, 6)
    taken = drift.estimate(logs[:5], logs[5:])
    left = logs[:5] - taken.base
    assert left.std(axis=0).mean() < 0.02
    assert logs[:5].std(axis=0).mean() > 0.1
    # The newer side loses what its drift differs by, and nothing else.
    assert (logs[5] - taken.head[0] - left.mean(axis=0)).std() < 0.025


def test_a_slower_benchmark_stays_slower():
    random = np.random.default_rng(2)
    _, logs = machine(random, 6)
    logs[5, 20] += np.log(1.3)
    taken = drift.estimate(logs[:5], logs[5:])
    ratio = logs[5] - taken.head[0] - (logs[:5] - taken.base).mean(axis=0)
    assert ratio[20] == pytest.approx(np.log(1.3), abs=0.04)
    assert abs(ratio[[18, 19, 21, 22]]).max() < 0.05


def test_without_a_drift_nothing_is_taken_out():
    random = np.random.default_rng(3)
    _, quiet = machine(random, 6, amplitude=0)
    _, loud = machine(random, 1, amplitude=0.5)
    assert drift.estimate(quiet[:5], quiet[5:]) is None
    assert drift.estimate(quiet[:5], loud) is None, "what sides differ by has no say"


def test_few_benchmarks_or_one_process_tell_no_drift():
    random = np.random.default_rng(5)
    _, logs = machine(random, 6)
    alone = np.full((1, 40), np.nan)
    alone[0, 7] = logs[5, 7]
    assert drift.estimate(logs[:5, :7], logs[5:, :7]) is None
    assert drift.estimate(logs[:1], logs[1:2]) is None
    assert drift.estimate(logs[:5], alone) is None


def test_neighbours_are_enough_for_a_process_that_confirms():
    random = np.random.default_rng(7)
    shared, logs = machine(random, 7)
    suspect = np.zeros(40, dtype=bool)
    suspect[20] = True
    wanted = drift.neighbours(suspect)
    assert wanted.sum() == 9
    head = logs[5:].copy()
    head[1, ~wanted] = np.nan
    taken = drift.estimate(logs[:5], head)
    centre = (shared[:5].mean(axis=0) + shared[5]) / 2
    assert taken.head[1, 20] == pytest.approx(shared[6, 20] - centre[20], abs=0.03)


def test_inflation_is_what_neighbours_add():
    random = np.random.default_rng(8)
    logs = random.normal(0, 1, (2000, 30))
    estimate, squares = drift.smooth(logs - logs.mean(axis=0))
    expected = (logs - estimate).std(axis=0) ** 2
    assert 1 + squares[0] == pytest.approx(expected, rel=0.15)
    assert squares[0, 0] > squares[0, 15]  # at the ends the line is longer than its points


@pytest.mark.parametrize(
    ("factors", "expected"),
    [((1.3, 1.2, 5.0), 1.3), ((0.5, 0.7), math.sqrt(0.35)), ((1.09, 0.93), None), ((), None)],
)
def test_since_a_record_the_machine_changed_by_the_factor_of_the_middle_benchmark(factors, expected):
    times = [(math.log(1e6 * number * one), math.log(1e6 * number)) for number, one in enumerate(factors, 1)]
    assert drift.since_record(times) == (expected and pytest.approx(expected))
