import os
import time
from dataclasses import replace
from importlib import metadata

import pytest

from gnnbench import environment
from gnnbench.errors import UsageError
from gnnbench.results import unfinished_record
from tests.run_files import save, suite

HERE = replace(environment.collect(device="cpu"), commit="a" * 40)


def folder(cache, here=HERE, inputs=("/root", "benchmarks")):
    with unfinished_record.opened(cache, here, inputs) as kept:
        return kept.folder


@pytest.fixture
def kept(tmp_path):
    with unfinished_record.opened(tmp_path / "cache", HERE, ["benchmarks"]) as kept:
        yield kept


def test_a_complete_file_is_kept_and_a_damaged_one_is_not(kept, tmp_path):
    (first, second) = save(tmp_path, suite(1), suite(2))
    assert kept.get(1, 0) is None
    assert kept.keep(first, 1, 0) == kept.get(1, 0)
    assert not first.exists()
    kept.keep(second, 2, 1)
    assert kept.finished(2) == 1, "of process 2 only the repeated run is there"
    (kept.folder / "2-0.json").write_text('{"benchmarks": [')
    assert kept.get(2, 0) is None
    assert kept.finished(2) == 1


def test_processes_belong_together_only_if_all_is_equal(tmp_path, monkeypatch):
    folders = [folder(tmp_path)]
    assert folder(tmp_path) == folders[0]
    others = (
        {"commit": "b" * 40},
        {"threads": HERE.threads + 1},
        {"python": "3.99.1"},
    )
    folders += [folder(tmp_path, replace(HERE, **change)) for change in others]
    folders.append(folder(tmp_path, inputs=("/root", "benchmarks", "-k", "spmm")))
    folders.append(folder(tmp_path, inputs=("/other", "benchmarks")))
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k one")
    folders.append(folder(tmp_path))
    monkeypatch.setattr(metadata, "distributions", list)  # as if packages were removed
    folders.append(folder(tmp_path))
    assert len(set(folders)) == len(folders)


def test_without_a_commit_nothing_continues(tmp_path):
    here = replace(HERE, commit=None)
    assert folder(tmp_path, here) != folder(tmp_path, here)


def test_what_was_left_for_a_week_is_removed(tmp_path):
    old, new = folder(tmp_path, inputs=["old"]), folder(tmp_path, inputs=["new"])
    week = time.time() - 8 * 24 * 3600
    os.utime(old, (week, week))
    folder(tmp_path)
    assert not old.exists()
    assert new.exists()


def test_a_cache_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"the cache folder .*file cannot be written .*GNNBENCH_CACHE"):
        folder(tmp_path / "file")


def test_of_a_link_that_was_left_only_the_link_is_removed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").touch()
    week = time.time() - 8 * 24 * 3600
    os.utime(elsewhere, (week, week))
    link = folder(tmp_path).parent / ".unfinished-x"
    link.symlink_to(elsewhere)
    folder(tmp_path)
    assert not link.is_symlink()
    assert (elsewhere / "file").exists()
