"""The intervals of compare --by on the simulated processes of experiments/along: runs of fixed seeds."""

import math

import pytest

from experiments.along.intervals import simulate

RUNS = [40, pytest.param(1000, marks=pytest.mark.nightly)]


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("common", [0.0, 0.5, 1.0])
def test_five_processes_hold_their_levels_however_errors_are_correlated(runs, common):
    found = simulate(runs, 3, 5, 0.03, common)
    short = runs < 100  # one run's rows are correlated: few runs say little
    assert found.alarms <= (2 if short else 0.02 * runs)
    assert found.covered_rows > (0.92 if short else 0.975)
    assert min(found.covered_row, found.covered_mean) > (0.88 if short else 0.93)


def test_few_processes_say_little_about_a_row_and_one_says_nothing_about_the_mean():
    one, two = simulate(20, 3, 1, 0.03, 0.0), simulate(20, 3, 2, 0.01, 0.0)
    assert one.alarms == two.alarms == 0
    assert one.covered_row < 0.8, "the interval does not know how processes differ"
    assert math.isnan(one.covered_mean)
    assert two.row_width > 1
    assert two.mean_width < 0.1
