import pytest

from tests.engine.process.variants.repositories import Preparer, create, without_settings


@pytest.fixture(autouse=True)
def _nobodys_settings(monkeypatch):
    without_settings(monkeypatch)


@pytest.fixture
def prepare(tmp_path):
    return Preparer(tmp_path / "cache")


@pytest.fixture
def repository(tmp_path):
    return create(tmp_path / "repository")
