"""Penalties, calibrated once."""

import pytest

from gnnbench.compare.trend import penalty


@pytest.fixture(scope="session")
def calibrated():
    """Return the penalty of a length, as it is calibrated for users."""
    known = {}

    def get(runs):
        length = penalty.rounded(runs)
        if length not in known:
            known[length] = penalty.calibrate(length)
        return known[length]

    return get


@pytest.fixture
def quickly(monkeypatch):
    """Calibrate by fewer histories, where it is not the penalty that is tested."""
    monkeypatch.setattr(penalty, "_HISTORIES", 200)
    monkeypatch.setattr(penalty, "_MORE_HISTORIES", 0)
