import numpy as np
import pytest

from gnnbench.compare.trend import noise
from tests.compare.trend.histories import history, step

WHOLE = [slice(None)]


@pytest.mark.parametrize("level", [0.0, step(2000, 700, 0.3)])
def test_noise_is_told_whether_the_level_changes_or_not(level):
    logs = history(1, 2000, sd=0.02, dependence=0.3, level=level)
    found = noise.estimate(noise.winsorized(logs, WHOLE))
    assert found.sd == pytest.approx(0.02, rel=0.12)
    assert found.dependence == pytest.approx(0.3, abs=0.08)
    assert found.unit == pytest.approx(found.sd * np.sqrt((1 + found.dependence) / (1 - found.dependence)))


def test_a_short_series_has_the_usual_dependence():
    found = [noise.estimate(history([2, seed], 15, odd=0, dependence=0)).dependence for seed in range(50)]
    assert 0.1 < np.mean(found) < 0.35
    assert np.std(found) < 0.15


def test_outliers_are_pulled_in_and_levels_are_not():
    logs = history(3, 100, sd=0.01, odd=0, level=step(100, 50, 0.5))
    odd = logs.copy()
    odd[[20, 21, 60, 99]] += 0.3
    values = noise.winsorized(odd, WHOLE)
    assert np.abs(values - logs).max() < 0.05
    assert values[50:].min() > values[:50].max()


def test_equal_times_have_the_least_noise():
    found = noise.estimate(noise.winsorized(np.full(30, 3.0), WHOLE))
    assert found.sd == noise.LEAST


def test_each_stretch_has_its_own_scale():
    random = np.random.default_rng(4)
    logs = np.concatenate([random.normal(0, 0.01, 100), random.normal(0, 0.1, 100)])
    values = noise.winsorized(logs, [slice(0, 100), slice(100, 200)])
    assert values[100:].std() > 0.06
