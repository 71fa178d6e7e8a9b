import os

import pytest
from filelock import FileLock, Timeout

from gnnbench.errors import UsageError
from gnnbench.files import hold, write_whole


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "new" / "file.json"
    write_whole(path, "one")
    with path.open() as open_before:
        write_whole(path, "two")
        assert open_before.read() == "one", "who reads goes on with what was there"
    assert path.read_text() == "two"
    assert [entry.name for entry in path.parent.iterdir()] == ["file.json"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_failed_write_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "file.json"
    write_whole(path, "one")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "two")
    assert path.read_text() == "one"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.json"]


def test_a_cache_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    refused = pytest.raises(UsageError, match=r"the cache folder .* cannot be written .* GNNBENCH_CACHE")
    with refused, hold(tmp_path / "file" / "a.lock", tmp_path):
        pass


def test_a_lock_keeps_others_out_until_it_is_given_back(tmp_path):
    other = FileLock(tmp_path / "a.lock", timeout=0)
    with hold(tmp_path / "a.lock", tmp_path), pytest.raises(Timeout):
        other.acquire()
    other.acquire()
