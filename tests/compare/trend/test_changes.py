import numpy as np
import pytest

from gnnbench.compare.trend import changes
from tests.sampling import sampled


def cost(values, edges, penalty):
    parts = np.split(values, edges)
    return sum(((part - part.mean()) ** 2).sum() for part in parts) + penalty * len(edges)


def every(count, shortest):
    """All lists of up to two changes."""
    yield []
    for one in range(shortest, count - shortest + 1):
        yield [one]
        for other in range(one + shortest, count - shortest + 1):
            yield [one, other]


@pytest.mark.parametrize("seed", sampled(range(10), 3))
def test_the_segmentation_is_the_best_there_is(seed):
    random = np.random.default_rng(seed)
    values = random.normal(0, 1, 24) + 4 * (np.arange(24) >= 9) - 3 * (np.arange(24) >= 17)
    found = changes.segment(values, 9.0, 4)
    best = min(cost(values, edges, 9.0) for edges in every(24, 4))
    assert cost(values, found, 9.0) == pytest.approx(best)


@pytest.mark.parametrize("seed", sampled(range(20), 4))
def test_the_strongest_change_is_where_finding_it_ends(seed):
    values = np.random.default_rng(seed).normal(0, 1, 40)
    strength = changes.strongest(values, 9, 4)
    assert changes.segment(values, strength * 1.001, 4) == []
    assert changes.segment(values, strength * 0.999, 4) != []
    assert changes.segment(values[:7], 0.001, 4) == [], "too short for two levels"


def test_places_are_likelihoods_and_weighted():
    values = np.concatenate([np.zeros(10), np.full(10, 3.0)])
    likelihood = changes.places(values, np.ones(20), 3)
    assert int(np.argmax(likelihood)) == 10
    assert changes.plausible(likelihood) == (10, 10)
    # Twice the likelihood's lead over none is the drop of the squared error.
    assert likelihood[10] == pytest.approx((values - values.mean()) @ (values - values.mean()) / 2)
    assert np.isinf(likelihood[[0, 1, 2, 18, 19]]).all()
    assert np.isfinite(likelihood[3:18]).all()
    wide = changes.places(values, np.full(20, 4.0), 3)
    first, last = changes.plausible(wide)
    assert first < 10 < last
    assert wide[10] == pytest.approx(likelihood[10] / 16)


def test_a_range_holds_its_change_about_as_often_as_it_says():
    held = 0
    for seed in range(300):
        values = np.random.default_rng(seed).normal(0, 1, 80) + 1.5 * (np.arange(80) >= 30)
        first, last = changes.plausible(changes.places(values, np.ones(80), 3))
        held += first <= 30 <= last
    assert held >= 300 * 0.93


def test_ranks_tell_a_change_whatever_the_distribution_and_its_scale():
    random = np.random.default_rng(0)
    values = np.exp(5 * random.normal(0, 1, 100))
    assert changes.by_rank(values, 40) < 10
    values[40:] += 1e6
    assert changes.by_rank(values, 40) > 60
    assert changes.by_rank(values**3, 40) == changes.by_rank(values, 40)
    assert changes.by_rank(np.full(20, 3.0), 10) == 0
    assert np.isfinite(changes.by_rank(np.arange(2.0), 1))


@pytest.mark.parametrize("runs", [500, pytest.param(2000, marks=pytest.mark.nightly)])
def test_ranks_are_exceeded_as_seldom_as_chance_allows(runs):
    strengths = [
        changes.by_rank(np.random.default_rng([1, seed]).normal(size=60), 25) for seed in range(runs)
    ]
    assert np.mean(np.array(strengths) > 3.84) == pytest.approx(0.05, abs=0.015)
