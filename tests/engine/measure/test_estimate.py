import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gnnbench.engine.measure import estimate as location
from gnnbench.engine.measure.estimate import autocorrelation_time, block_values, estimate

TIMES = st.floats(1e-9, 1e12, allow_nan=False)
LEVELS = (location.SHOWN_LEVEL, location.JUDGED_LEVEL)
TENTH = math.exp(0.1 * stats.norm.ppf(location.QUANTILE))
"""The decile of values whose logarithms have a standard deviation of 0.1."""


@pytest.fixture
def random():
    return np.random.default_rng(0)


def test_quantiles_are_those_of_scipy():
    for n in (*range(1, 100), 1000, 100_000):
        law = stats.binom(n, location.QUANTILE)
        for tail in (0.005, 0.025, 0.0005):
            assert location._binomial_quantile(tail, n) == law.ppf(tail)
            assert location._binomial_quantile(1 - tail, n) == law.isf(tail)


def test_the_value_of_a_block_is_its_median():
    assert block_values([[1, 9, 3], [2], [4, 2]]).tolist() == [3, 2, 3]


@given(st.lists(TIMES, min_size=1, max_size=300))
def test_an_interval_holds_its_location(values):
    for level in LEVELS:
        found = estimate(np.array(values), level)
        assert min(values) * (1 - 1e-12) <= found.location <= max(values) * (1 + 1e-12)
        if found.low is None or found.high is None:
            assert found.low is found.high is None
            assert found.half_width == math.inf
        else:
            assert 0 < found.low <= found.location <= found.high
            assert found.high in values
            assert 0 <= found.half_width < math.inf


@given(st.lists(TIMES, min_size=1, max_size=100), st.floats(1e-3, 1e3))
def test_units_do_not_matter(values, factor):
    one, other = estimate(np.array(values)), estimate(np.array(values) * factor)
    assert other.location == pytest.approx(one.location * factor, rel=1e-9)
    assert (one.low is None) == (other.low is None)


@pytest.mark.parametrize(("level", "n"), [(0.95, 36), (0.99, 51)])
def test_bounds_of_enough_values_are_values_and_the_lower_one_of_fewer_lies_below_all(level, n, random):
    shown = level == location.SHOWN_LEVEL
    for count in range(1, 100):
        values = np.exp(random.normal(0, 0.1, count))
        found = estimate(values, level)
        independent = location._independent_by_rank(values) if shown else count
        if count < (location.FEWEST_SHOWN if shown else location.FEWEST_VALUES):
            assert found.low is None
        elif independent == count and autocorrelation_time(values <= found.location) == 1:
            assert (found.low in values) == (count >= n) or found.low == pytest.approx(values.min())
            assert count >= n or found.low <= values.min()


@pytest.mark.parametrize(
    ("level", "n"), [*itertools.product(LEVELS, (15, 80)), (LEVELS[0], location.FEWEST_SHOWN), (LEVELS[1], 5)]
)
def test_the_interval_covers_the_location_of_independent_values(level, n, random):
    found = [estimate(np.exp(random.normal(0, 0.1, n)), level) for _ in range(1000)]
    shown = [one for one in found if one.low is not None]
    held = sum(one.low <= TENTH <= one.high for one in shown) / len(shown)
    assert len(shown) >= 990
    assert level - 0.02 <= held
    assert held <= 0.99 or level > location.SHOWN_LEVEL


@pytest.mark.parametrize("n", [15, 50])
def test_the_interval_covers_the_location_of_noise_that_lasts(n, random):
    shown = []
    for _ in range(1000):
        values = [random.normal(0, 0.1)]
        while len(values) < n:
            values.append(0.73 * values[-1] + random.normal(0, 0.1 * math.sqrt(1 - 0.73**2)))
        found = estimate(np.exp(values))
        shown += [found] if found.low is not None else []
    assert len(shown) >= 990
    assert sum(one.low <= TENTH <= one.high for one in shown) / len(shown) >= 0.93


def test_the_standard_error_is_that_of_many_estimates(random):
    for n in (15, 51, 200):
        samples = [np.exp(random.normal(0, 0.1, n)) for _ in range(500)]
        spread = np.std([math.log(estimate(values).location) for values in samples])
        assert 0.85 < np.mean([location.standard_error(values) for values in samples]) / spread < 2
    assert math.isnan(location.standard_error(np.ones(2)))


def test_autocorrelation_time_of_known_series(random):
    independent = random.random(5000) < 0.3
    assert autocorrelation_time(independent) == pytest.approx(1, abs=0.3)
    assert autocorrelation_time(np.repeat(independent, 10)) == pytest.approx(10, rel=0.3)
    assert autocorrelation_time(np.ones(50, dtype=bool)) == autocorrelation_time(np.array([True])) == 1
