import numpy as np
import pytest

from gnnbench.compare.trend import noise
from tests.compare.trend.histories import history, step


@pytest.mark.parametrize("level", [0.0, step(2000, 700, 0.3)])
def test_noise_is_told_whether_the_level_changes_or_not(level):
    logs = history(1, 2000, sd=0.02, dependence=0.3, level=level)
    assert noise.long_run_sd(noise.winsorized(logs)) == pytest.approx(0.02 * np.sqrt(1.3 / 0.7), rel=0.15)


def test_a_short_series_has_the_usual_dependence():
    found = [noise.long_run_sd(history([2, seed], 15, sd=0.01, odd=0, dependence=0)) for seed in range(50)]
    assert 1.1 < np.mean(found) / 0.01 < 1.5


def test_outliers_are_pulled_in_and_levels_are_not():
    logs = history(3, 100, sd=0.01, odd=0, level=step(100, 50, 0.5))
    odd = logs.copy()
    odd[[20, 21, 60, 99]] += 0.3
    values = noise.winsorized(odd)
    assert np.abs(values - logs).max() < 0.05
    assert values[50:].min() > values[:50].max()


def test_equal_times_have_the_least_noise():
    assert noise.LEAST <= noise.long_run_sd(noise.winsorized(np.full(30, 3.0))) < 2 * noise.LEAST
