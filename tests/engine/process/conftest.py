import pytest

from tests.engine.process.workers import clean


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    clean(monkeypatch)
