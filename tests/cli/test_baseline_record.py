"""Real commands that are killed, disturbed and started again. Each process that ends adds a line to `log`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from gnnbench.cli import main
from gnnbench.results import baseline
from gnnbench.results.baseline import FOLDER, RecordStore
from tests.suite import environment, gnnbench

CONFTEST = """
import json
from pathlib import Path

def pytest_benchmark_update_json(output_json):
    log = Path("log").read_text() if Path("log").exists() else ""
    Path("log").write_text(f"{log}process\\n")
    shares = json.loads(Path("shares.json").read_text())
    share = shares[log.count("process")] if log.count("process") < len(shares) else 0.0
    for entry in output_json["benchmarks"]:
        entry["extra_info"]["gnnbench"]["measurement"]["others_share"] = share
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
CONTINUES = "gnnbench: continues: 1 of 2 processes was finished\n"
TEST = "test_a.py::test_one"
CONTENTION = f"other programs used up to 40% of the CPU time while {TEST} was timed"
RECORD = ("baseline", "record", "--", ".")


class Project:
    """A suite in a git repository, on the simulated machine.

    A process after the first one fails if the file `fail` exists, and blocks if the file `block` exists.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in (("conftest.py", CONFTEST), ("test_a.py", SUITE), ("pytest.ini", "[pytest]\n")):
            (folder / name).write_text(text)
        self.git("init", "-q")
        self.git("add", ".")
        self.commit()
        truth = folder / "truth.json"
        truth.write_text(json.dumps({"benchmarks": {"test_one": 1e-3, "test_two": 1e-3}}))
        self.variables = {"GNNBENCH_CACHE": str(folder / "cache"), "GNNBENCH_FAKE_CLOCK": f"1:{truth}"}
        self.disturb()

    def git(self, *words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *words], cwd=self.folder, check=True, capture_output=True)

    def commit(self):
        self.git("commit", "-qm", "commit", "--allow-empty")

    def disturb(self, *shares):
        """Set the shares of the CPU time that other programs use during the processes; then they use none."""
        (self.folder / "shares.json").write_text(json.dumps(shares))

    def record(self):
        return gnnbench(*RECORD, cwd=self.folder, **self.variables)

    def fail(self):
        """Record, and fail in the second process."""
        (self.folder / "fail").touch()
        result = self.record()
        (self.folder / "fail").unlink()
        assert (result.returncode, "process 2 failed" in result.stderr) == (2, True), result.stderr

    def ended(self):
        """Return how many processes have ended; one that failed has ended too."""
        return (self.folder / "log").read_text().count("process")

    def processes(self):
        """Return the processes of all records, which must be valid; nothing else may be kept."""
        assert not list((self.folder / "cache" / "unfinished-records").iterdir())
        result = gnnbench("baseline", "verify", cwd=self.folder, **self.variables)
        assert result.returncode == 0, result.stdout + result.stderr
        return [run for record in RecordStore(self.folder / FOLDER).records() for run in record.read()]

    def recorded_nothing(self):
        return not list((self.folder / FOLDER).rglob("*.json"))


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_it_continues_after_it_was_killed(project, number):
    (project.folder / "block").touch()
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("gnnbench")), *RECORD],
        cwd=project.folder,
        env=environment(**project.variables),
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (project.folder / "started").exists() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    for child in children if number == signal.SIGKILL else ():
        child.kill()
    _, err = process.communicate(timeout=60)
    if number == signal.SIGKILL:
        assert process.returncode == -number
    else:
        assert process.returncode == 128 + number
        assert err.endswith(
            "gnnbench: interrupted; 1 of 2 processes was finished; the same command continues\n"
        )
    assert project.recorded_nothing()
    (project.folder / "block").unlink()
    result = project.record()
    assert result.returncode == 0, result.stderr
    assert CONTINUES in result.stderr
    assert "process 1 of 2" not in result.stderr
    assert "process 2 of 2: pytest .: " in result.stderr
    assert "recorded 1 benchmark in 2 processes: record 0001" in result.stdout
    assert project.ended() == 2
    first, second = project.processes()
    assert first.benchmarks[TEST] != second.benchmarks[TEST]


def test_after_another_commit_it_starts_anew(project):
    project.fail()
    (project.folder / "pytest.ini").write_text("[pytest]\n\n")
    result = project.record()
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    project.git("add", "pytest.ini")
    project.commit()
    result = project.record()
    assert result.returncode == 0, result.stderr
    assert "continues" not in result.stderr
    assert project.ended() == 4


def test_a_damaged_file_is_measured_again(project):
    project.fail()
    (file,) = (project.folder / "cache" / "unfinished-records").glob("*/*.json")
    file.write_bytes(file.read_bytes()[:1000])
    result = project.record()
    assert result.returncode == 0, result.stderr
    assert "continues" not in result.stderr
    assert project.ended() == 4
    assert len(project.processes()) == 2


def test_processes_that_do_not_match_are_not_mixed_and_not_kept(project):
    project.fail()
    # git does not follow this file, so the commit stays the same.
    (project.folder / "test_b.py").write_text("def test_two(benchmark):\n    benchmark(sum, [2])\n")
    result = project.record()
    assert result.returncode == 2
    reason = "test_b.py::test_two is missing in some processes"
    assert result.stderr.endswith(f"gnnbench: nothing was recorded: {reason}\n")
    assert project.recorded_nothing()
    result = project.record()
    assert result.returncode == 0, result.stderr
    assert "continues" not in result.stderr
    assert [len(run.benchmarks) for run in project.processes()] == [2, 2]


def test_a_disturbed_process_is_repeated(project):
    project.disturb(0.4)
    result = project.record()
    assert result.returncode == 0, result.stderr
    assert f"gnnbench: process 1 of 2 is repeated: {CONTENTION}, more than 10% in 1 of 1 processes\n" in (
        result.stderr
    )
    assert result.stderr.count("is repeated") == 1
    assert project.ended() == 3
    timings = [timing for run in project.processes() for timing in run.benchmarks[TEST].processes]
    assert [timing.contended for timing in timings] == [False, False]


def test_what_stays_disturbed_is_recorded_without_times_that_count(project):
    project.disturb(0.0, 0.4, 0.4, 0.4)
    result = project.record()
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("process 2 of 2 is repeated: ") == 2
    said = f"process 2 of 2 is recorded without times that can be compared: {CONTENTION}"
    assert f"{said}, more than 10% in 3 of 4" in result.stderr
    assert project.ended() == 4
    timings = [timing for run in project.processes() for timing in run.benchmarks[TEST].processes]
    assert [timing.contended for timing in timings] == [False, True]
    assert "complete and valid" in gnnbench("baseline", "verify", cwd=project.folder).stdout


def test_on_a_full_disk_finished_processes_are_kept(project, monkeypatch, capsys):
    def full(_path, text):
        Path("/dev/full").write_text(text)  # a real ENOSPC

    monkeypatch.chdir(project.folder)
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        monkeypatch.delenv(name)  # those of xdist would switch timing off
    for name, value in environment(**project.variables).items():
        monkeypatch.setenv(name, value)
    with monkeypatch.context() as patch:
        patch.setattr(baseline, "_write", full)
        assert main.main(list(RECORD)) == 2
    err = capsys.readouterr().err
    assert "cannot be written (No space left on device); nothing was recorded\n" in err
    assert project.recorded_nothing()
    assert main.main(list(RECORD)) == 0
    assert "continues: 2 of 2 processes were finished" in capsys.readouterr().err
    assert project.ended() == 2
    assert len(project.processes()) == 2
