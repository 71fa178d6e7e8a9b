import numpy as np
import pytest
from scipy import stats

from gnnbench.engine.judge.spending import Boundary, Spending

SPENDING = Spending(5.0, 3.0)


@pytest.mark.parametrize(
    ("information", "time", "share"),
    [(5.0, 0.0, 1 / 2), (5.0, 0.5, 1 / 2), (0, 0.5, 1 / 4), (1e-3, 1.0, 1.0), (1e-3, 1.01, 1.0)],
)
def test_what_is_further_spends(information, time, share):
    assert SPENDING.share(information, time) == pytest.approx(share)


def test_one_look_has_the_whole_of_what_is_spent_by_then():
    assert Boundary(0.025).tail(7.0, 0.5) == pytest.approx(0.0125, rel=1e-4)


@pytest.mark.parametrize("skipped", [(10.5, 0.6), (8.0, 0.6), (12.0, 0.5), (12.0, 0.4)])
def test_looks_at_hardly_more_information_and_those_that_may_spend_nothing_are_skipped(skipped):
    boundary = Boundary(0.025)
    assert boundary.tail(10.0, 0.5)
    assert boundary.tail(*skipped) is None
    assert boundary.tail(14.0, 0.6)


@pytest.mark.parametrize("error", [0.025, 0.00025])
def test_all_looks_together_miss_as_often_as_they_may(error):
    """The paths of a Brownian motion, seen where the looks are, by importance sampling for the rare."""
    information = 2.0 * 1.2 ** np.arange(14)
    boundary = Boundary(error)
    ends = [stats.norm.isf(boundary.tail(one, SPENDING.share(one, 0.0))) for one in information]
    random = np.random.default_rng(1)
    drift = 1.5 if error < 0.01 else 0.5  # of the shifted paths, weighed back by their likelihood ratio
    steps = np.diff(information, prepend=0.0)
    paths = np.cumsum(random.normal(drift * steps, np.sqrt(steps), (40_000, len(steps))), axis=1)
    beyond = paths / np.sqrt(information) > ends
    first = beyond.argmax(axis=1)
    at = paths[np.arange(len(paths)), first]
    weights = np.exp(-drift * at + drift**2 * information[first] / 2) * beyond.any(axis=1)
    assert weights.mean() == pytest.approx(error * SPENDING.share(information[-1], 0.0), rel=0.05)
