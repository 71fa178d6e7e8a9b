"""Processes of torchrun train together, and end in every case."""

import os
import subprocess
import sys
from dataclasses import replace

import psutil
import pytest
import torch

from gnnbench.workloads import distributed, platforms, torchrun
from gnnbench.workloads.operations import OPERATIONS, epoch_ddp
from gnnbench.workloads.torchrun import Processes, ProcessesError
from gnnbench.workloads.verify import MismatchError, verify
from tests.suite import ROOT

LONG = 60
"""Seconds in which a process that should end does, on a busy machine."""


def started(processes):
    """Return torchrun and the processes that train, once they are ready."""
    processes.evaluate()
    one = psutil.Process(processes._process.pid)
    return [one, *one.children(recursive=True)]


def ended(found):
    _, alive = psutil.wait_procs(found, LONG)
    return not alive


@pytest.fixture
def case(make_case):
    """On plain PyTorch, which the processes import sooner than PyG."""
    return make_case("epoch_ddp", "torch", "train")


def test_two_processes_train_and_end_when_the_test_is_interrupted(case):
    found, losses = [], []

    def interrupted():
        with Processes(case) as processes:
            found.extend([processes, *started(processes)])
            losses.extend(processes.epoch() for _ in range(20))
            assert processes.evaluate()[1] == 0
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    processes, *three = found
    assert len(three) == 3
    assert ended(three)
    assert losses[-1] < losses[0]
    with pytest.raises(ProcessesError, match="the processes of torchrun ended"):
        processes.epoch()


SCRIPT = """
import sys
from pathlib import Path
from gnnbench.workloads import distributed, torchrun
processes = torchrun.Processes(distributed.read(Path(sys.argv[1])))
processes.evaluate()
print(processes._process.pid, flush=True)
sys.stdin.read()
"""


def test_they_end_when_this_process_is_killed(case, tmp_path):
    distributed.write(case, tmp_path / "case.pt")
    words = [sys.executable, "-c", SCRIPT, str(tmp_path / "case.pt")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    # A process that is killed removes no files.
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, cwd=ROOT, text=True, env=environment, **pipes) as parent:
        one = psutil.Process(int(parent.stdout.readline()))
        found = [one, *one.children(recursive=True)]
        parent.kill()
    assert len(found) == 3
    assert ended(found)


def test_an_error_in_a_process_is_one_line(case):
    wrong = case.graph.edge_index.clone()
    wrong[0, 0] = 10_000
    broken = replace(case, graph=replace(case.graph, edge_index=wrong))
    with Processes(broken) as processes, pytest.raises(ProcessesError) as caught:
        processes.epoch()
    assert "Error" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_does_not_train_alike_is_found(make_case):
    class Same:
        """Processes whose losses and difference are made up."""

        def __init__(self, before, after, difference):
            self.epoch = lambda: before
            self.evaluate = lambda: (after, difference)

    case = make_case("epoch_ddp", "pyg", "train")
    inputs, result = epoch_ddp.inputs(case), epoch_ddp.checked(case)
    reference = OPERATIONS["epoch_ddp"].reference
    before, after = reference(case.graph, *(one.double() for one in inputs)).tolist()

    def check(*found):
        verify(case, platforms.load("pyg"), epoch_ddp.run, (Same(*found), *inputs), reference, result=result)

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
