"""`gnnbench profile`: real processes, and a session on given answers."""

import signal
import time
from contextlib import suppress

import psutil
import pytest

from tests.cli.started import start

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
