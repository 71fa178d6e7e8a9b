"""Penalties as they are calibrated for users."""

import pytest

from gnnbench.compare.trend import penalty
from gnnbench.compare.trend.penalty import Penalty, Tail

KNOWN = {
    60: Penalty(Tail(10.341947, 4.197118), Tail(9.218110, 2.083372)),
    363: Penalty(Tail(12.994238, 3.109734), Tail(12.182253, 2.088749)),
}
"""By length: to calibrate one takes seconds."""


@pytest.fixture
def calibrated():
    """Return the penalty of a length."""
    return lambda runs: KNOWN[penalty.rounded(runs)]


@pytest.fixture
def quickly(monkeypatch):
    """Calibrate by fewer histories, where it is not the penalty that is tested."""
    monkeypatch.setattr(penalty, "_HISTORIES", 100)
    monkeypatch.setattr(penalty, "_MORE_HISTORIES", 0)
