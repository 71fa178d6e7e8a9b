import numpy as np
import pytest

from gnnbench.compare.trend import ramp

ONES = np.ones(200)


def line(first, last, size, count=200):
    return size * np.clip((np.arange(count) - first) / (last - first), 0, 1)


def test_a_ramp_is_found_where_it_is():
    found = ramp.fit(line(60, 140, 8.0) + np.random.default_rng(0).normal(0, 0.3, 200), ONES)
    assert found.first == pytest.approx(60, abs=6)
    assert found.last == pytest.approx(140, abs=6)
    assert found.after - found.before == pytest.approx(8, abs=0.3)
    assert found.low < 8 < found.high
    assert np.abs(found.levels(200) - line(60, 140, 8.0)).max() < 0.8


def test_a_ramp_is_better_than_steps_and_a_step_is_not_a_ramp():
    random = np.random.default_rng(1)
    noise = random.normal(0, 1, 200)
    assert ramp.better(line(50, 150, 6.0) + noise, ONES, [75, 125]) is not None
    assert ramp.better(4.0 * (np.arange(200) >= 100) + noise, ONES, [100]) is None


def test_noise_that_differs_counts_less():
    values = line(60, 140, 8.0) + np.random.default_rng(2).normal(0, 0.1, 200)
    units = np.where(np.arange(200) < 40, 100.0, 1.0)
    values[:40] += np.random.default_rng(3).normal(0, 100, 40)
    found = ramp.fit(values, units)
    assert found.after - found.before == pytest.approx(8, abs=0.3)


def test_a_stretch_may_be_too_short_for_a_drift():
    assert ramp.fit(np.arange(20.0), np.ones(20)) is None
    assert ramp.better(np.arange(20.0), np.ones(20), [5]) is None
    assert ramp.fit(np.arange(22.0), np.ones(22)).first <= 1
