from pathlib import Path

import pytest

from tests.engine.process.workers import clean


@pytest.fixture(autouse=True)
def _clean(request, monkeypatch):
    if request.path.parent == Path(__file__).parent:  # the folders below have their own settings
        clean(monkeypatch)
