import time

import pytest

from gnnbench.engine.measure.clock import Call, HostClock
from gnnbench.engine.process.slowdown import VARIABLE, Slowed
from tests.engine.process.workers import here, visits


@pytest.mark.parametrize("iterations", [1, 4])
def test_a_round_takes_a_part_of_itself_longer(iterations):
    """Whichever round it is: one that is slow is slowed by as much more."""
    calls = []

    def work(first, *, second):
        calls.append(first)
        time.sleep(first * second)

    clock = Slowed(HostClock.of(), 0.5)
    for first in (1, 3):
        call = Call(work, (first,), {"second": 2e-3})
        calls.clear()
        seconds = clock.block(call, 4, iterations).seconds
        assert len(calls) == 4 * iterations
        assert min(seconds) >= 1.5 * iterations * first * 2e-3


SUITE = """
import time

def test_plain(benchmark):
    benchmark(time.sleep, 0.002)

def test_rounds(benchmark):
    benchmark.pedantic(time.sleep, (0.002,), rounds=5)

def test_once(benchmark):
    benchmark.pedantic(time.sleep, (0.002,), rounds=1)
"""


def test_a_real_suite_takes_longer_whatever_it_asks_for(pytester, monkeypatch):
    monkeypatch.setenv(VARIABLE, "0.5")
    answers = here(pytester, SUITE, visits("test_plain", "test_rounds", "test_once"))
    assert all(one["ns"] > 1.5 * 2e6 for one in answers if one["answer"] == "block")
    assert [one["failure"] for one in answers if one["answer"] == "done"] == [None] * 3


@pytest.mark.cuda
def test_a_gpu_s_rounds_are_longer_by_what_is_asked_for():
    torch = pytest.importorskip("torch")
    from gnnbench.engine.measure.cuda_clock import CudaClock

    clock = CudaClock(flush=True)
    x = torch.randn(4096, 4096, device="cuda")
    call = Call(torch.mm, (x, x), {})
    plain, slow = (min(each.block(call, 30, 1).seconds) for each in (clock, Slowed(clock, 0.5)))
    assert 1.4 < slow / plain < 1.6
