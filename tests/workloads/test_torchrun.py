"""Processes of torchrun train together, and end in every case."""

import multiprocessing
import sys
import tempfile
from dataclasses import replace

import psutil
import pytest
import torch

from gnnbench.workloads import interpreter, platforms, torchrun
from gnnbench.workloads.operations import OPERATIONS, epoch_ddp
from gnnbench.workloads.torchrun import Processes, ProcessesError
from gnnbench.workloads.verify import MismatchError, verify

LONG = 60
"""Seconds in which a process that should end does, on a busy machine."""


def started(processes):
    """Return torchrun and its processes."""
    one = psutil.Process(processes._process.pid)
    return [one, *one.children(recursive=True)]


def ended(found):
    _, alive = psutil.wait_procs(found, LONG)
    return not alive


@pytest.fixture
def case(make_case):
    """On plain PyTorch, which the processes import sooner than PyG."""
    return make_case("epoch_ddp", "torch", "train")


def trained(case, folder, pipe):
    """Train, send what is found of it, and wait. A process that is killed removes no files."""
    tempfile.tempdir = str(folder)
    processes = Processes(case)
    first, (after, difference) = processes.epoch(), processes.evaluate()
    last = [processes.epoch() for _ in range(20)][-1]
    pids = [one.pid for one in started(processes)]
    pipe.send((pids, [first, after, last], [difference, processes.evaluate()[1]]))
    pipe.recv()


@pytest.mark.nightly
def test_two_processes_train_as_one_and_end_when_this_one_is_killed(case, tmp_path):
    here, there = multiprocessing.Pipe()
    parent = multiprocessing.get_context("fork").Process(target=trained, args=(case, tmp_path, there))
    parent.start()
    there.close()
    pids, (*losses, last), differences = here.recv()
    found = [psutil.Process(pid) for pid in pids]
    parent.kill()
    expected = OPERATIONS["epoch_ddp"].reference(
        case.graph, *(one.double() for one in epoch_ddp.inputs(case))
    )
    assert losses == pytest.approx(expected.tolist(), rel=1e-5)
    assert last < losses[1]
    assert differences == [0, 0]
    assert len(found) == 3
    assert ended(found)
    parent.join()


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
def _quick(monkeypatch):
    monkeypatch.setattr(interpreter, "command", lambda *_, **__: [sys.executable, "-S", "-c", IN_ITS_PLACE])


@pytest.mark.usefixtures("_quick")
def test_all_end_when_the_test_is_interrupted(case):
    found = []

    def interrupted():
        with Processes(case) as processes:
            assert processes.evaluate() == (0.5, 0)
            found.extend([processes, *started(processes)])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    processes, *three = found
    assert len(three) == 3
    assert ended(three)
    with pytest.raises(ProcessesError, match="the processes of torchrun ended: without a message"):
        processes.epoch()


@pytest.mark.usefixtures("_quick")
def test_of_what_they_wrote_their_own_error_is_told(case):
    with Processes(case) as processes:
        assert processes.epoch() == 0.5
        with pytest.raises(ProcessesError) as caught:
            processes.epoch()
    assert str(caught.value) == "the processes of torchrun ended: IndexError: 7 is too large"


@pytest.mark.nightly
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
