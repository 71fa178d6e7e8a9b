import numpy as np
import pytest

from gnnbench.compare.trend import changes, spread


def test_scores_are_normal_whatever_the_deviations_are():
    random = np.random.default_rng(0)
    for deviations in (random.normal(size=500), random.standard_cauchy(500), np.arange(500.0)):
        scores = spread.scores(deviations)
        assert scores.mean() == pytest.approx(0, abs=1e-9)
        assert scores.std() == pytest.approx(1, abs=0.02)
        assert (np.argsort(scores) == np.argsort(np.abs(deviations), kind="stable")).all()
    assert not spread.scores(np.zeros(30)).any()


def test_a_level_hardly_moves_the_deviations():
    noise = np.random.default_rng(1).normal(0, 0.01, 100)
    moved = noise + 0.5 * (np.arange(100) >= 50)
    assert np.abs(spread.deviations(moved)).max() < 0.06


def test_a_change_is_placed_where_it_is():
    near, held = 0, 0
    for seed in range(100):
        random = np.random.default_rng([2, seed])
        deviations = random.normal(0, 0.01, 120) * np.where(np.arange(120) >= 70, 5, 1)
        deviations += 0.26 * (random.random(120) < 0.02)
        at, likelihood = spread.places(deviations, 75, 0.001)
        first, last = changes.plausible(likelihood)
        near += abs(at - 70) <= 2
        held += first <= 70 <= last
        assert np.isinf(likelihood[: spread.SHORTEST]).all()
        assert np.isinf(likelihood[120 - spread.SHORTEST + 1 :]).all()
        assert np.isfinite(likelihood[spread.SHORTEST : 120 - spread.SHORTEST + 1]).all()
    assert near >= 85
    assert held >= 92


def test_a_spread_is_not_told_by_odd_runs():
    deviations = np.random.default_rng(3).normal(0, 0.01, 200)
    deviations[:10] += 0.3
    assert spread.sd(deviations, 0.001) == pytest.approx(0.01, rel=0.15)
    assert spread.sd(np.zeros(5), 0.001) == 0.001
