"""The simulation behind the penalties of gnnbench trend."""

import pytest

from experiments.trend import penalties as script
from gnnbench.compare.trend.steps import TAILS
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
