"""Two processes train as one, and end in every case; torchrun itself is started at night."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from datetime import timedelta
from threading import Timer

import psutil
import pytest
import torch
from torch.distributed import TCPStore

from gnnbench.workloads import distributed, interpreter, platforms, torchrun
from gnnbench.workloads.operations import OPERATIONS, epoch_ddp
from gnnbench.workloads.torchrun import Processes, ProcessesError
from gnnbench.workloads.verify import MismatchError, verify
from tests.suite import ROOT

REFERENCE = OPERATIONS["epoch_ddp"].reference


@pytest.fixture
def case(make_case):
    """On plain PyTorch, which the processes import sooner than PyG."""
    return make_case("epoch_ddp", "torch", "train")


@pytest.fixture
def expected(case):
    """The losses before and after a step."""
    return REFERENCE(case.graph, *(one.double() for one in epoch_ddp.inputs(case))).tolist()


def started(processes):
    """Return torchrun and its processes."""
    one = psutil.Process(processes._process.pid)
    return [one, *one.children(recursive=True)]


def ended(found):
    _, alive = psutil.wait_procs(found, 60)
    return not alive


@contextmanager
def ending(words, seconds, **options):
    """Start a process, which is killed if it takes longer, and whatever fails here: nobody waits for it."""
    with subprocess.Popen(words, text=True, **options) as process:
        late = Timer(seconds, process.kill)
        late.start()
        try:
            yield process
            process.wait()
        finally:
            late.cancel()
            process.kill()


def test_this_process_and_another_train_as_one_until_there_are_no_more_commands(
    case, expected, tmp_path, monkeypatch, capsys
):
    """The other one is the first, which reads commands."""
    path = str(tmp_path / "case.pt")
    distributed.write(case, tmp_path / "case.pt")
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port), "WORLD_SIZE": "2"}
    for name, value in {**variables, "RANK": "1", "TORCHELASTIC_USE_AGENT_STORE": "True"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["", path])
    monkeypatch.setattr(distributed, "_LONGEST_PAUSE", timedelta(minutes=1))
    words = [sys.executable, "-c", f"from {distributed.__name__} import main; main()", path]
    options = {"cwd": ROOT, "env": {**os.environ, "RANK": "0"}}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with ending(words, 100, **options, **pipes) as other:
        other.stdin.write("epoch\nevaluate\n" + 20 * "epoch\n" + "evaluate\n")
        other.stdin.close()
        distributed.main()
        first, after, *others, last = map(json.loads, other.stdout)
    assert other.returncode == 0
    assert [first["loss"], after["loss"]] == pytest.approx(expected, rel=1e-5)
    assert len(others) == 20
    assert last["loss"] < after["loss"]
    assert after["difference"] == last["difference"] == 0
    assert capsys.readouterr().out == "", "only the first one answers"


IN_ITS_PLACE = """
import subprocess, sys
words = [sys.executable, "-S", "-c", "import time; time.sleep(300)"]
others = [subprocess.Popen(words, stdout=subprocess.DEVNULL) for _ in range(2)]
print("a library says something")
print('{"loss": 0.5, "difference": 0.0}', flush=True)
sys.stdin.readline()
sys.stdin.readline()
for other in others:
    other.kill()
for line in ("Traceback:", "IndexError: 7 is too large", "ChildFailedError: 1", "end"):
    print(line, file=sys.stderr)
"""
"""A program that answers once, and raises when it is asked again, as torchrun and its processes do."""


@pytest.fixture
def quick(case, monkeypatch):
    monkeypatch.setattr(interpreter, "command", lambda *_, **__: [sys.executable, "-S", "-c", IN_ITS_PLACE])
    return Processes(case)


def test_all_end_when_the_test_is_interrupted(quick):
    with pytest.raises(KeyboardInterrupt), quick:  # noqa: PT012
        assert quick.evaluate() == (0.5, 0)
        three = started(quick)
        raise KeyboardInterrupt
    assert len(three) == 3
    assert ended(three)
    with pytest.raises(ProcessesError, match="the processes of torchrun ended: without a message"):
        quick.epoch()


def test_of_what_they_wrote_their_own_error_is_told(quick):
    with quick:
        assert quick.epoch() == 0.5
        with pytest.raises(ProcessesError, match="ended: IndexError: 7 is too large"):
            quick.epoch()


def test_what_does_not_train_alike_is_found(make_case):
    case = make_case("epoch_ddp", "pyg", "train")
    inputs, result = epoch_ddp.inputs(case), epoch_ddp.checked(case)
    before, after = REFERENCE(case.graph, *(one.double() for one in inputs)).tolist()

    class Same:
        """Processes whose losses and difference are made up."""

        def __init__(self, before, after, difference):
            self.epoch = lambda: before
            self.evaluate = lambda: (after, difference)

    def check(*found):
        verify(case, platforms.load("pyg"), epoch_ddp.run, (Same(*found), *inputs), REFERENCE, result=result)

    check(before, after, 0)
    for wrong in ((before * 1.001, after, 0), (before, before, 0)):
        with pytest.raises(MismatchError, match="output is wrong"):
            check(*wrong)
    with pytest.raises(MismatchError, match=r"parameters differ by 0\.5 between processes"):
        check(before, after, 0.5)


def test_gpus_must_be_two(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert torchrun.why_not_on("cuda") == "2 processes need as many GPUs; here is 1"
    assert torchrun.why_not_on("cpu") is None
