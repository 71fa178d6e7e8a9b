"""The intervals of compare --by on the simulated processes of experiments/along: runs of fixed seeds."""

import math
import sys

import pytest

from tests.suite import ROOT

RUNS = [40, pytest.param(1000, marks=pytest.mark.nightly)]


@pytest.fixture(scope="module")
def simulate():
    sys.path.insert(0, str(ROOT / "experiments" / "along"))
    try:
        import intervals

        return intervals.simulate
    finally:
        sys.path.pop(0)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("common", [0.0, 0.5, 1.0])
def test_five_processes_hold_their_levels_however_errors_are_correlated(simulate, runs, common):
    found = simulate(runs, 3, 5, 0.03, common)
    short = runs < 100  # one run's rows are correlated: few runs say little
    assert found.alarms <= (2 if short else 0.02 * runs)
    assert found.covered_rows > (0.92 if short else 0.975)
    assert found.covered_row > (0.88 if short else 0.93)
    assert found.covered_mean > (0.88 if short else 0.93)


def test_one_process_has_no_verdict_and_no_interval_of_the_mean(simulate):
    found = simulate(20, 3, 1, 0.03, 0.0)
    assert found.alarms == 0
    assert found.covered_row < 0.8, "the interval does not know how processes differ"
    assert math.isnan(found.covered_mean)


def test_two_processes_say_little_about_a_row_and_more_about_the_mean(simulate):
    found = simulate(20, 3, 2, 0.01, 0.0)
    assert found.alarms == 0
    assert found.row_width > 1
    assert found.mean_width < 0.1
