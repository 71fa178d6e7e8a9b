import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import psutil
import pytest

from gnnbench.engine.process.variants.child import DiedError
from tests.engine.process.workers import clean, of_group, process, wait_for_end, write
from tests.runs import ROOT

SUITE = """
import os, signal, subprocess, sys, time

def test_variables(benchmark):
    assert os.environ["MINE"] == "1"
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    assert not [name for name in os.environ if "COORDINATOR" in name.upper()]
    assert "torch" not in sys.modules
    benchmark(sum, [1])

def test_policy():
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"

def test_good(benchmark):
    assert benchmark(sum, [1, 2]) == 3

def test_crashes(benchmark):
    benchmark(os.kill, os.getpid(), signal.SIGSEGV)

def test_hangs(benchmark):
    benchmark(time.sleep, 1000)

def test_leaves_processes(benchmark):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)
    benchmark(sum, [1, 2])

def test_exits_with_a_child(benchmark):
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(4)

def test_ends_the_session(benchmark):
    import pytest
    benchmark(pytest.exit, "enough")
"""


@pytest.fixture(autouse=True)
def _clean(monkeypatch, fresh_children):  # noqa: ARG001
    clean(monkeypatch)


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path, SUITE)


def visit(worker, name):
    """Run a benchmark as far as into a block."""
    worker.ask({"command": "run", "name": f"test_suite.py::{name}", "seed": 1}, 30)
    return worker.ask({"command": "block", "rounds": 1, "iterations": 1}, 30)


def test_a_side_answers_sleeps_while_it_waits_and_ends(folder):
    limits = ("-o", "faulthandler_timeout=0.9", "-o", "faulthandler_exit_on_timeout=true")
    with process(folder, "test_suite.py", *limits, MINE="1") as worker:
        assert "test_suite.py::test_good" in worker.answer(30)["names"]
        assert visit(worker, "test_variables")["answer"] == "block"
        assert worker.ask({"command": "next"}, 30)["failure"] is None
        assert visit(worker, "test_good")["rounds"] == 1
        before = psutil.Process(worker.pid).cpu_times()
        time.sleep(1)
        after = psutil.Process(worker.pid).cpu_times()
        assert after.user + after.system - before.user - before.system <= 0.03
        done = worker.ask({"command": "next"}, 30)
        assert (done["answer"], done["failure"], done["held"]) == ("done", None, True)
        # Processes that a suite leaves.
        visit(worker, "test_leaves_processes")
        assert len(of_group(worker.pid)) == 3
        worker.ask({"command": "next"}, 30)
    wait_for_end(worker.pid)


def test_packages_that_do_not_go_with_the_side_s_torch_are_hidden(tmp_path):
    suite = """
    from importlib.util import find_spec
    def test_hidden(benchmark):
        assert find_spec("hypothesis") is None and find_spec("numpy")
        try:
            import hypothesis.strategies
        except ModuleNotFoundError:
            benchmark(sum, [1])
    """
    arguments = ("-p", "no:hypothesispytest", "test_suite.py")
    with process(
        write(tmp_path, textwrap.dedent(suite)), *arguments, GNNBENCH_HIDDEN="gone hypothesis"
    ) as worker:
        assert worker.answer(30)["notes"] == [
            "hidden packages (compiled for the installed torch): gone, hypothesis"
        ]
        assert visit(worker, "test_hidden")["rounds"] == 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("test_crashes", "was killed by SIGSEGV while timing: Fatal Python error: Segmentation fault"),
        ("test_exits_with_a_child", "ended with exit status 4 while setting up the benchmark"),
        ("test_ends_the_session", r"ended with exit status \d while timing.*"),
    ],
)
def test_a_side_that_dies(folder, name, expected):
    with process(folder) as worker:
        worker.answer(30)
        with pytest.raises(DiedError, match=rf"^{expected}$"):
            visit(worker, name)
    wait_for_end(worker.pid)


def test_a_side_that_hangs(folder, monkeypatch):
    monkeypatch.setattr("gnnbench.engine.process.variants.command.END_SECONDS", 0.5)
    with process(folder) as worker:
        worker.answer(30)
        worker.ask({"command": "run", "name": "test_suite.py::test_hangs", "seed": 1}, 30)
        with pytest.raises(DiedError, match=r"^did not answer for 0.2 s while timing$"):
            worker.ask({"command": "block", "rounds": 1, "iterations": 1}, 0.2)
        worker.stop()
    wait_for_end(worker.pid)


def test_a_side_that_is_killed(folder):
    with process(folder, OMP_WAIT_POLICY="ACTIVE") as worker:
        worker.answer(30)
        done = worker.ask({"command": "run", "name": "test_suite.py::test_policy", "seed": 1}, 30)
        assert (done["failure"], done["held"]) == (None, False), "the policy of the user stays"
        threading.Timer(0.5, os.kill, (worker.pid, signal.SIGKILL)).start()
        with pytest.raises(DiedError, match=r"^was killed by SIGKILL \(possibly.* while timing$"):
            visit(worker, "test_hangs")
        with pytest.raises(DiedError, match="SIGKILL"):
            worker.ask({"command": "next"}, 30)


@pytest.mark.parametrize(
    ("word", "status", "why"),
    [
        ("nowhere.py", 4, ": ERROR: file or directory not found: nowhere.py"),
        ("--numprocesses=a", 4, r": \S+: error: unrecognized arguments: --numprocesses=a"),
        ("--benchmark-timer=time.none", 1, ": AttributeError: module 'time' has no attribute 'none'"),
        ("exits.py", 3, ": INTERNALERROR> SystemExit: 0"),
        ("dies.py", 5, ""),
    ],
)
def test_a_side_that_does_not_start(folder, word, status, why):
    expected = f"^ended with exit status {status} while starting{why}$"
    (folder / "exits.py").write_text("raise SystemExit(0)")
    (folder / "dies.py").write_text("import os; os._exit(5)")
    with process(folder, word, terms={"recorded": True}) as worker, pytest.raises(DiedError, match=expected):
        worker.answer(30)


def test_a_coordinator_that_is_killed(folder):
    """While one side waits, one hangs, and one has children."""
    script = f"""
        import sys, time
        from pathlib import Path
        from tests.engine.process.workers import process
        def run(name):
            return {{"command": "run", "name": "test_suite.py::" + name, "seed": 1}}
        sides = [process(Path({str(folder)!r})) for _ in range(3)]
        for side, name in zip(sides, ("test_good", "test_hangs", "test_leaves_processes")):
            side.answer(300)
            side.ask(run(name), 300)
        sides[1].send({{"command": "next"}})
        print(*(side.pid for side in sides), flush=True)
        time.sleep(1000)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as coordinator:
        sides = [int(pid) for pid in coordinator.stdout.readline().split()]
        assert [len(of_group(pid)) for pid in sides] == [1, 1, 3]
        coordinator.kill()
    assert len(sides) == 3
    wait_for_end(*sides)
