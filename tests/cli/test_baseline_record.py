"""Recordings that end early, or whose processes do not match. The second process finds the file `log`."""

import json
import signal
from functools import partial
from pathlib import Path

import pytest

from gnnbench.engine.ground import files
from gnnbench.engine.store.baseline import FOLDER, RecordStore
from tests.cli.started import start
from tests.suite import as_a_user
from tests.variants import repositories

CONFTEST = """
def pytest_benchmark_update_json():
    with open("log", "a") as log:
        log.write("process")
"""
SUITE = """
import time
from pathlib import Path

def test_one(benchmark):
    benchmark(sum, [1])
    if Path("log").exists() and Path("block").exists():
        Path("started").touch()
        time.sleep(100)
"""
INI = "[pytest]\naddopts = -p pytest_benchmark.plugin -p gnnbench.engine.plugin\n"
RECORD = ("baseline", "record", "--", ".")


class Project:
    """A suite in a repository, on the simulated machine; a second process blocks if there is a `block`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in (("conftest.py", CONFTEST), ("test_a.py", SUITE), ("pytest.ini", INI)):
            (folder / name).write_text(text)
        repositories.commit_all(folder, "commit")
        truth = folder / "truth.json"
        truth.write_text(json.dumps({"benchmarks": {"test_one": 1e-3, "test_two": 1e-3}}))
        self.variables = {"GNNBENCH_CACHE": str(folder / "cache"), "GNNBENCH_FAKE_CLOCK": f"1:{truth}"}
        self.variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # others take half of the time

    def recorded_nothing(self):
        return not list((self.folder / FOLDER).rglob("*.json"))


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def record(project, monkeypatch, call):
    """Return a function that records in this process, and returns exit code, output and messages."""
    monkeypatch.chdir(project.folder)
    as_a_user(monkeypatch, **project.variables)
    return partial(call, *RECORD)


def test_a_record_without_a_commit_says_why(project, record, monkeypatch):
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    status, out, err = record()
    assert status == 0, err
    assert "recorded without a commit, so that its code cannot be built again: detected dubious owner" in err
    assert "safe.directory" in err
    assert out.endswith("\ncompare with it: python -m pytest . --benchmark-compare\n")
    (saved,) = RecordStore(project.folder / FOLDER).records()
    assert [run.commit for run in saved.read()] == [None, None]


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_interrupted_it_records_nothing(project, number):
    (project.folder / "block").touch()
    process = start(project.folder, *RECORD, **project.variables)
    started = project.folder / "started"
    repositories.wait_for(lambda: started.exists() or process.poll() is not None, seconds=60)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert project.recorded_nothing()


def test_processes_that_do_not_match_are_not_mixed(project, record):
    # git does not follow this file, so the commit stays the same.
    other = "open('test_b.py', 'w').write('def test_two(benchmark):\\n    benchmark(sum, [2])\\n')"
    (project.folder / "conftest.py").write_text(f"{CONFTEST}    {other}\n")
    repositories.commit_all(project.folder, "another file")
    status, _, err = record()
    assert status == 2
    reason = "test_b.py::test_two is missing in some processes"
    assert err.endswith(f"gnnbench: nothing was recorded: {reason}\n")
    assert project.recorded_nothing()


def test_on_a_full_disk_nothing_is_recorded(project, record, monkeypatch):
    def full(_path, text):
        Path("/dev/full").write_text(text)  # a real ENOSPC

    monkeypatch.setattr(files, "write_whole", full)
    status, _, err = record()
    assert status == 2
    assert "cannot be written (No space left on device); nothing was recorded\n" in err
    assert project.recorded_nothing()
