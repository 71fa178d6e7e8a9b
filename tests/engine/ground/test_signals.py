"""The signals, and a real command that gets one while its children run."""

import signal

import psutil
import pytest

from gnnbench.engine.ground import signals
from gnnbench.engine.store.baseline import FOLDER
from tests.engine.cli.started import start
from tests.engine.process.variants.repositories import commit_all, is_alive, wait_for

ENDING = (signal.SIGTERM, signal.SIGHUP)
PLUGINS = "-p no:cacheprovider -p pytest_benchmark.plugin -p gnnbench.engine.plugin"
BLOCKED = """
import pathlib, subprocess, time
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
    assert received == [number]
    assert [signal.getsignal(one) for one in ENDING] == before


def test_one_that_was_swallowed_may_come_again(monkeypatch):
    monkeypatch.setattr(signals, "_TOGETHER_SECONDS", -1.0)
    with signals.as_ctrl_c():
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)


def test_what_is_ignored_stays_ignored():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with signals.as_ctrl_c() as received:
        signal.raise_signal(signal.SIGHUP)
    assert not received
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_a_command_leaves_nothing(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_a.py").write_text(BLOCKED)
    commit_all(tmp_path, "first")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    variables = {"TMPDIR": str(temporary), "PYTEST_ADDOPTS": PLUGINS, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    process = start(tmp_path, "baseline", "record", "--", "test_a.py", **variables)
    wait_for((tmp_path / "started").exists, 60)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert len(children) >= 2, errors
    remaining = [one for one in children if is_alive(one.pid)]
    for one in remaining:
        one.kill()
    assert not remaining
    assert not list(temporary.iterdir())
    assert process.returncode == 128 + signal.SIGINT, errors
    assert "interrupted; nothing was saved" in errors
    assert not list((tmp_path / FOLDER).rglob("*.*"))
