"""Recordings that are killed and started again. Each process that ends adds a line to `log`."""

import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from gnnbench.engine.cli import main
from gnnbench.engine.cli.baseline_record import _Work
from gnnbench.engine.store import baseline
from gnnbench.engine.store.baseline import FOLDER, RecordStore
from gnnbench.engine.store.unfinished_record import UnfinishedRecord
from tests.cli.forked import pytest_is_forked
from tests.cli.started import start
from tests.run_files import content, entry
from tests.suite import gnnbench
from tests.variants import repositories

CONFTEST = """
def pytest_benchmark_update_json():
    with open("log", "a") as log:
        log.write("process\\n")
"""
SUITE = """
import time
from pathlib import Path

def test_one(benchmark):
    benchmark(sum, [1])
    if Path("log").exists():
        assert not Path("fail").exists()
        if Path("block").exists():
            Path("started").touch()
            time.sleep(100)
"""
INI = "[pytest]\naddopts = -p pytest_benchmark.plugin -p gnnbench.engine.plugin\n"
WAITS = "waiting until another command that records here has ended"
CONTINUES = "gnnbench: continues: 1 of 2 processes was finished\n"
TEST = "test_a.py::test_one"
RECORD = ("baseline", "record", "--", ".")


class Project:
    """A suite in a git repository, on the simulated machine.

    A process after the first one fails if the file `fail` exists, and blocks if the file `block` exists.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in (("conftest.py", CONFTEST), ("test_a.py", SUITE), ("pytest.ini", INI)):
            (folder / name).write_text(text)
        repositories.commit_all(folder, "commit")
        truth = folder / "truth.json"
        truth.write_text(json.dumps({"benchmarks": {"test_one": 1e-3, "test_two": 1e-3}}))
        self.variables = {"GNNBENCH_CACHE": str(folder / "cache"), "GNNBENCH_FAKE_CLOCK": f"1:{truth}"}
        self.variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # others take half of the time

    def killed(self, number):
        """Record, send a signal while the second process blocks, and return the exit code and messages."""
        started = self.folder / "started"
        started.unlink(missing_ok=True)
        process = start(self.folder, *RECORD, **self.variables)
        repositories.wait_for(lambda: started.exists() or process.poll() is not None, seconds=60)
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(number)
        for child in children if number == signal.SIGKILL else ():
            child.kill()
        _, err = process.communicate(timeout=60)
        return process.returncode, err

    def ended(self):
        """Return how many processes have ended; one that failed has ended too."""
        return (self.folder / "log").read_text().count("process")

    def processes(self):
        """Return the processes of all records; nothing else may be kept."""
        assert not list((self.folder / "cache" / "unfinished-records").iterdir())
        return [run for record in RecordStore(self.folder / FOLDER).records() for run in record.read()]

    def recorded_nothing(self):
        return not list((self.folder / FOLDER).rglob("*.json"))


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def record(project, monkeypatch, capsys):
    """Return a function that records in this process, and returns exit code, output and messages."""
    monkeypatch.chdir(project.folder)
    pytest_is_forked(monkeypatch, **project.variables)

    def record(*words):
        os.environ.pop("PYTEST_CURRENT_TEST", None)  # what has other variables is not continued
        status = main.main(list(words or RECORD))
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return record


def test_a_record_without_a_commit_says_why(project, record, monkeypatch):
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    status, out, err = record()
    assert status == 0, err
    assert "recorded without a commit, so that its code cannot be built again: detected dubious owner" in err
    assert "safe.directory" in err
    assert out.endswith("\ncompare with it: python -m pytest . --benchmark-compare=0001\n")
    assert {run.commit for run in project.processes()} == {None}


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_it_continues_after_it_was_interrupted_or_killed(project, number):
    (project.folder / "block").touch()
    status, err = project.killed(number)
    if number == signal.SIGKILL:
        assert status == -number
    else:
        assert status == 128 + number
        said = "interrupted; 1 of 2 processes was finished; the same command continues"
        assert err.endswith(f"gnnbench: {said}\n")
    assert project.recorded_nothing()
    (project.folder / "block").unlink()
    result = gnnbench(*RECORD, cwd=project.folder, **project.variables)
    assert result.returncode == 0, result.stderr
    assert CONTINUES in result.stderr
    assert "process 1 of 2" not in result.stderr
    assert "process 2 of 2: pytest .: " in result.stderr
    assert "recorded 1 benchmark in 2 processes: record 0001" in result.stdout
    assert project.ended() == 2
    first, second = project.processes()
    assert first.benchmarks[TEST] != second.benchmarks[TEST]


@pytest.mark.nightly
def test_processes_that_do_not_match_are_not_mixed_and_not_kept(project, record):
    (project.folder / "fail").touch()
    status, _, err = record()
    assert (status, "process 2 failed" in err) == (2, True), err
    (project.folder / "fail").unlink()
    # git does not follow this file, so the commit stays the same.
    (project.folder / "test_b.py").write_text("def test_two(benchmark):\n    benchmark(sum, [2])\n")
    status, _, err = record()
    assert status == 2
    reason = "test_b.py::test_two is missing in some processes"
    assert err.endswith(f"gnnbench: nothing was recorded: {reason}\n")
    assert project.recorded_nothing()
    status, _, err = record()
    assert status == 0, err
    assert "continues" not in err
    assert [len(run.benchmarks) for run in project.processes()] == [2, 2]


def test_a_busy_machine_makes_no_process_run_again(tmp_path):
    """Both have ended, and were kept by a command that was interrupted before it saved them."""
    for process in (1, 2):
        row = entry("test_one", seed=process, code_hash="1")
        row["extra_info"]["gnnbench"]["measurement"]["contention_share"] = 0.4
        (tmp_path / f"{process}.json").write_text(json.dumps(content(row)))
    said = []
    work = _Work(UnfinishedRecord(tmp_path), 2, ["."], SimpleNamespace(say=said.append))
    assert [run.path.stem for run in work.go()] == ["1", "2"]
    assert said == ["continues: 2 of 2 processes were finished"]


@pytest.mark.nightly
def test_of_two_at_once_one_waits_and_both_are_right(project):
    (project.folder / "block").touch()
    first = start(project.folder, *RECORD, **project.variables)
    repositories.wait_for((project.folder / "started").exists, seconds=60)
    second = start(project.folder, *RECORD, **project.variables)
    assert second.stderr.readline() == f"gnnbench: {WAITS}\n"
    (project.folder / "block").unlink()
    for process in psutil.Process(first.pid).children(recursive=True):
        process.kill()
    assert first.wait(60) == 2, "its process was killed"
    assert second.wait(60) == 0
    assert "continues: 1 of 2 processes was finished" in second.stderr.read()
    assert [len(run.benchmarks) for run in project.processes()] == [1, 1]


def test_on_a_full_disk_finished_processes_are_kept(project, record, monkeypatch):
    def full(_path, text):
        Path("/dev/full").write_text(text)  # a real ENOSPC

    with monkeypatch.context() as patch:
        patch.setattr(baseline, "write_whole", full)
        status, _, err = record()
    assert status == 2
    assert "cannot be written (No space left on device); nothing was recorded\n" in err
    assert project.recorded_nothing()
    status, _, err = record()
    assert status == 0, err
    assert "continues: 2 of 2 processes were finished" in err
    assert project.ended() == 2
    assert len(project.processes()) == 2
