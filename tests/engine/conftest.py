import pytest

from tests.engine.process.workers import clean


@pytest.fixture(autouse=True)
def _clean(request, monkeypatch):
    if request.path.parent.name in ("drive", "process"):  # not in the folders below these
        clean(monkeypatch)
