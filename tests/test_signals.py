"""The signals, and real commands and a real pytest that get them while their children run."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from gnnbench.engine.ground import signals
from gnnbench.engine.store.baseline import FOLDER
from tests.suite import environment
from tests.variants.repositories import commit_all, is_alive

ENDING = (signal.SIGTERM, signal.SIGHUP)
PLUGINS = "-p no:cacheprovider -p pytest_benchmark.plugin -p gnnbench.engine.plugin"
BLOCKED = """
import pathlib, subprocess, sys, time

def block():
    subprocess.Popen(["sleep", "100"])
    pathlib.Path("started").touch()
    time.sleep(100)
"""


@pytest.fixture(autouse=True)
def not_ignored():
    """Receive the signals also where pytest was started by nohup, which ignores SIGHUP."""
    kept = {number: signal.signal(number, signal.SIG_DFL) for number in ENDING}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ENDING)
def test_it_is_as_ctrl_c_and_a_second_one_at_once_changes_nothing(number):
    before = [signal.getsignal(one) for one in ENDING]
    ended = False
    with pytest.raises(KeyboardInterrupt), signals.as_ctrl_c() as received:  # noqa: PT012 - and what follows it
        try:
            signal.raise_signal(number)
        finally:
            for one in ENDING:
                signal.raise_signal(one)
            ended = True
    assert ended
    assert received.number == number
    assert [signal.getsignal(one) for one in ENDING] == before


def test_one_that_was_swallowed_may_come_again(monkeypatch):
    monkeypatch.setattr(signals, "_TOGETHER_SECONDS", -1.0)
    with signals.as_ctrl_c():
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)


def test_what_is_ignored_stays_ignored():
    kept = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals.as_ctrl_c() as received:
            signal.raise_signal(signal.SIGHUP)
        assert received.number is None
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, kept)


def end(folder: Path, number: int, *words: str) -> tuple[int, str]:
    """Start a command, send it a signal when a child of it blocks, and return its status and output.

    Nothing of it may be left.
    """
    temporary, cache = folder / "tmp", folder / "cache"
    temporary.mkdir()
    variables = environment(TMPDIR=str(temporary), GNNBENCH_CACHE=str(cache), PYTEST_ADDOPTS=PLUGINS)
    variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [str(Path(sys.executable).with_name("gnnbench")), *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(command, cwd=folder, env=variables, **pipes)
    deadline = time.monotonic() + 60
    while not (folder / "started").exists() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert len(children) >= 2, output
    remaining = [one for one in children if is_alive(one.pid)]
    for one in remaining:
        one.kill()
    assert not remaining
    assert not list(temporary.iterdir())
    assert not list(cache.glob("worktrees/gnnbench-*"))
    return process.returncode, output


@pytest.mark.parametrize(
    ("number", "command", "told"),
    [
        (signal.SIGINT, "baseline record -- test_a.py", "interrupted; nothing was saved"),
        pytest.param(signal.SIGHUP, "ab git:HEAD . -- test_a.py", "interrupted", marks=pytest.mark.nightly),
    ],
)
def test_a_command_leaves_nothing(tmp_path, number, command, told):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_a.py").write_text(f"{BLOCKED}\nblock()\n")
    commit_all(tmp_path, "first")
    status, output = end(tmp_path, number, *command.split())
    assert status == 128 + number, output
    assert told in output
    assert not list((tmp_path / FOLDER).rglob("*.*"))
