import pytest

from tests.compare.ab.workers import clean


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    clean(monkeypatch)
