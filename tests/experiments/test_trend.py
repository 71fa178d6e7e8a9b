"""The simulation behind the penalties of gnnbench trend."""

import numpy as np
import pytest

from experiments.trend import penalties as script
from gnnbench.compare.trend import noise, steps
from gnnbench.compare.trend.penalty import TAILS, penalties
from tests.sampling import sampled


def test_the_table_has_the_lengths_of_the_script():
    assert list(script.lengths()) == list(TAILS)


@pytest.mark.parametrize("length", sampled([60, 363], 0))
def test_the_simulation_is_repeatable(length):
    assert script.tails(length) == pytest.approx(TAILS[length], abs=1e-4)


def test_fewer_series_have_much_the_same_penalty(monkeypatch):
    monkeypatch.setattr(script, "HISTORIES", 60)
    monkeypatch.setattr(script, "MORE_HISTORIES", 60 * 500)
    assert script.tails(60) == pytest.approx(TAILS[60], rel=0.2)


def test_a_penalty_holds_for_other_series():
    limit, _ = penalties(60, 0.01)
    random = np.random.default_rng(99)
    above = 0
    for _ in range(400):
        values = noise.winsorized(script.permuted(60, random))
        above += script.strongest(values / noise.long_run_sd(values), steps.SHORTEST) > limit
    assert 1 <= above <= 10


def test_the_strongest_step_is_where_finding_it_ends():
    for seed in range(4):
        values = np.random.default_rng(seed).normal(0, 1, 40)
        strength = script.strongest(values, steps.SHORTEST)
        assert steps.segment(values, strength * 1.001) == []
        assert steps.segment(values, strength * 0.999) != []


def test_a_penalty_is_exceeded_as_often_as_it_says():
    exponential = np.random.default_rng(0).exponential(4, 200_000)
    threshold, excess = script.tail(exponential)
    limit = threshold + excess * np.log(script.TAIL / 0.001)
    assert (exponential > limit).mean() == pytest.approx(0.001, rel=0.3)
