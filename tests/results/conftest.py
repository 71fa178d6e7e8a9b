import pytest

from gnnbench.engine.store.baseline import RecordStore


@pytest.fixture
def store(tmp_path):
    return RecordStore(tmp_path / "timings")
