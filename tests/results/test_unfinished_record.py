import os
import threading
import time
from dataclasses import replace
from importlib import metadata

from gnnbench.engine.ground import environment
from gnnbench.engine.store import unfinished_record
from tests.run_files import save, suite

HERE = replace(environment.collect(device="cpu"), commit="a" * 40)


def folder(cache, here=HERE, inputs=("/root", "benchmarks")):
    with unfinished_record.opened(cache, here, inputs) as kept:
        return kept.folder


def test_a_complete_file_is_kept_and_a_damaged_one_is_not(tmp_path):
    (first, second) = save(tmp_path, suite(1), suite(2))
    with unfinished_record.opened(tmp_path / "cache", HERE, ["benchmarks"]) as kept:
        assert kept.get(1) is None
        assert kept.keep(first, 1) == kept.get(1)
        assert not first.exists()
        kept.keep(second, 3)
        assert kept.finished(2) == 1
        (kept.folder / "2.json").write_text('{"benchmarks": [')
        assert kept.get(2) is None
        assert kept.finished(3) == 2


def test_a_second_record_waits_says_so_and_begins_anew(tmp_path):
    """The first one removes its folder while the second one waits."""
    waits, went_on = threading.Event(), threading.Event()

    def second(inputs):
        with unfinished_record.opened(tmp_path, HERE, inputs, waits.set) as kept:
            assert kept.folder.is_dir()
            assert kept.finished(2) == 0
            went_on.set()

    for inputs in (["benchmarks"], ["benchmarks", "-k", "other"]):
        waits.clear()
        went_on.clear()
        other = threading.Thread(target=second, args=(inputs,))
        with unfinished_record.opened(tmp_path, HERE, ["benchmarks"]) as kept:
            other.start()
            assert waits.wait(10)
            kept.remove()
            assert not went_on.is_set()
        other.join(10)
        assert went_on.is_set()


def test_processes_belong_together_only_if_all_is_equal(tmp_path, monkeypatch):
    folders = [folder(tmp_path)]
    assert folder(tmp_path) == folders[0]
    others = ({"commit": "b" * 40}, {"threads": HERE.threads + 1}, {"python": "3.99.1"})
    folders += [folder(tmp_path, replace(HERE, **change)) for change in others]
    folders.append(folder(tmp_path, inputs=("/root", "benchmarks", "-k", "spmm")))
    folders.append(folder(tmp_path, inputs=("/other", "benchmarks")))
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k one")
    folders.append(folder(tmp_path))
    monkeypatch.setattr(metadata, "distributions", list)  # as if packages were removed
    folders.append(folder(tmp_path))
    without_commit = replace(HERE, commit=None)
    folders += [folder(tmp_path, without_commit) for _ in range(2)]
    assert len(set(folders)) == len(folders)


def test_what_was_left_for_a_week_is_removed(tmp_path):
    old, new = folder(tmp_path, inputs=["old"]), folder(tmp_path, inputs=["new"])
    week = time.time() - 8 * 24 * 3600
    os.utime(old, (week, week))
    folder(tmp_path)
    assert not old.exists()
    assert new.exists()
