"""`gnnbench profile`: real processes, and a session on given answers."""

import json
import shutil
import signal
import time
from contextlib import suppress

import psutil
import pytest

from gnnbench.engine.cli import profile
from gnnbench.engine.process.variants.child import DiedError
from tests.cli.started import start
from tests.report import contents

SUITE = """
import torch
from kernels import work


def test_work(benchmark):
    benchmark(work, torch.ones(4, 4))
"""
SLEEPING = """
import subprocess
import time


def test_slow(benchmark):
    with subprocess.Popen(["sleep", "60"]):
        benchmark(time.sleep, 60)
"""
OLDER = """
import torch


def work(x):
    return torch.sort(x @ x).values
"""


SKIPPED = {"answer": "ended", "folder": "", "how": "skipped: it needs a GPU"}
SYNTHETIC = "gnnbench: synthetic data: cora:synthetic"


@pytest.fixture
def suite(tmp_path):
    plugins = "-p pytest_benchmark.plugin -p xdist.plugin"
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = {plugins} -n 2 --benchmark-skip\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "kernels.py").write_text(OLDER)
    return tmp_path


@pytest.mark.usefixtures("fresh_children")
def test_a_file_that_cannot_be_imported_and_a_process_that_dies_before_it_is_pytest_are_shown(
    suite, in_process
):
    (suite / "test_suite.py").write_text("import nothing_like_this\n")
    result = in_process("profile", "test_suite.py")
    assert result.returncode == 2
    assert "No module named 'nothing_like_this'" in result.stderr
    (suite / "secrets.py").write_text(
        "import os\n\nprint('not the module that was meant', flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    result = in_process("profile", "test_suite.py")
    assert result.returncode == 2
    first, _, said = result.stderr.partition("\n")
    begin, end = "gnnbench: pytest was killed by SIGKILL (as", "\nnot the module that was meant\n"
    assert first == "gnnbench: starting pytest (0 s)"
    assert (said[: len(begin)], said[-len(end) :]) == (begin, end)


class Ended:
    """A process that gives these answers, and has ended."""

    def __init__(self, answers):
        self._answers = answers

    def answer(self, _seconds):
        if not self._answers:
            raise DiedError("", "ended with exit status 0 while collecting")
        return self._answers.pop(0)

    def status(self):
        return 0


@pytest.fixture
def answered(monkeypatch, tmp_path):
    """Let no process be started: a benchmark has a profile of the given kinds."""

    def answer(kinds, unavailable):
        def run(_options, progress):
            place = tmp_path / "profiles" / "1"
            place.mkdir(parents=True)
            content = contents.profile("pyg")
            content["spec"]["dataset"] = "cora:synthetic"
            content["sections"] = {name: content["sections"][name] for name in ("counts", *kinds)}
            (place / "profile.json").write_text(json.dumps({**content, "unavailable": unavailable}))
            answers = [{"answer": "collected", "names": ["test_a", "test_b"], "notes": []}]
            answers += [{"answer": "ended", "folder": str(place), "how": "profiled"}] if kinds else [SKIPPED]
            (tmp_path / "log").write_text("")
            return profile._ended(Ended([*answers, SKIPPED]), tmp_path / "log", progress)

        monkeypatch.setattr(profile, "_profiled", run)

    return answer


def test_a_session_says_what_is_synthetic_and_once_what_is_unavailable(in_process, answered):
    why = {"kernels": "profile kind 'kernels' needs a GPU"}
    answered(["layers"], why)
    result = in_process("profile", "epoch", "--with", "layers,kernels")
    assert result.returncode == 0
    assert result.stdout.count("saved in profiles/") == 1
    assert "[2/2] test_b: skipped: it needs a GPU\n" in result.stderr
    assert result.stderr.splitlines()[-2:] == [f"gnnbench: {why['kernels']}", SYNTHETIC]
    shutil.rmtree("profiles")
    answered([], why)
    result = in_process("profile", "epoch", "--with", "kernels")
    assert (result.returncode, result.stdout) == (3, ""), "it has an exit code of its own"


@pytest.fixture
def sleeping(suite):
    """The command, and the process that profiles a benchmark that sleeps; ends them."""
    (suite / "test_suite.py").write_text(SLEEPING)
    process = start(suite, "profile", "test_suite.py", "--with", "phases", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    place = suite / ".benchmarks" / "profiles" / "test_suite.py_test_slow"
    deadline = time.monotonic() + 100
    while not place.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    (worker,) = psutil.Process(process.pid).children()
    started = worker.children()
    assert started
    yield process, worker, place
    process.kill()
    process.communicate()
    for one in (worker, *started):
        with suppress(psutil.NoSuchProcess):
            one.kill()


def is_gone(worker):
    return not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_outlives_the_command_and_what_is_interrupted_leaves_nothing_half_done(sleeping, number):
    process, worker, place = sleeping
    family = (worker, *worker.children())
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while not all(map(is_gone, family)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert all(map(is_gone, family))
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert "interrupted; finished profiles are in .benchmarks/profiles" in errors
        assert not place.exists()
