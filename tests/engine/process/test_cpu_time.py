"""Which calls are judged by CPU time where other programs use the cores, and which never are."""

import threading
import time
from functools import partial

import pytest

from gnnbench.engine.judge.trial import Trial
from gnnbench.engine.judge.visit import NotTimed, Visit
from gnnbench.engine.measure.clock import Call, HostClock
from gnnbench.engine.measure.layouts import Layouts
from gnnbench.engine.process.held import HeldCall
from tests.engine.process.test_held import Fixture, block, serve


def work():
    return sum(number * number for number in range(20_000))


def in_threads():
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_another_thread():
    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        pass


def waiting_for_a_lock():
    lock = threading.Lock()
    lock.acquire()
    threading.Timer(0.001, lock.release).start()
    with lock:
        work()


def now_and_then(calls=[]):  # noqa: B006 - counts the calls
    calls.append(0)
    if len(calls) % 8 == 0:
        time.sleep(1e-4)
    return work()


CALLS = {
    "works": work,
    "sleeps": partial(time.sleep, 1e-4),
    "threads": in_threads,
    "spins": in_another_thread,
    "lock": waiting_for_a_lock,
    "now and then": now_and_then,
}


def blocks(call, share):
    """Return the answers to real blocks of a call, with a share of the cores."""
    held = HeldCall(Fixture(), Layouts(Call(CALLS[call], (), {})), HostClock.of(), in_place=True)
    _, (_, *answers) = serve(held, *[block(1, 1)] * 40)
    return [{**answer, "cpu_share": share} for answer in answers]


def test_a_call_that_only_works_is_judged_by_cpu_time_on_a_busy_machine():
    trial, visit = Trial("a"), Visit.of(blocks("works", 0.5), blocks("works", 0.5))
    judged = trial.select_times(visit)
    assert (judged.base_ns, judged.head_ns) == (visit.cpu.base_ns, visit.cpu.head_ns)
    assert trial.by_cpu
    assert all(cpu > 0 for cpu in judged.base_ns)
    quiet = Visit.of(blocks("works", 1.0), blocks("works", 1.0))
    assert trial.select_times(quiet).base_ns == quiet.cpu.base_ns, "all pairs are judged alike"
    assert Trial("b").select_times(quiet) is quiet


@pytest.mark.parametrize("call", [name for name in CALLS if name != "works"])
@pytest.mark.parametrize("is_head", [False, True])
def test_a_call_that_waits_or_uses_threads_on_either_side_is_judged_by_its_time(call, is_head):
    sides = ("works", call) if is_head else (call, "works")
    trial, visit = Trial("a"), Visit.of(*(blocks(side, 0.5) for side in sides))
    assert visit.cpu is None
    assert trial.select_times(visit) is visit
    later = Visit.of(blocks("works", 0.5), blocks("works", 0.5))
    assert trial.select_times(later) is later, "all pairs are judged alike"


def test_a_call_that_begins_to_wait_is_not_judged_by_cpu_time():
    trial = Trial("a")
    trial.select_times(Visit.of(blocks("works", 0.5), blocks("works", 0.5)))
    found = trial.select_times(Visit.of(blocks("works", 0.5), blocks("sleeps", 0.5)))
    assert isinstance(found, NotTimed)
    assert "wait or use more threads" in found.text


@pytest.mark.parametrize("clock", ["cuda", "process_time"])
def test_other_clocks_have_no_cpu_time(clock):
    held = HeldCall(Fixture(), Layouts(Call(work, (), {})), HostClock.of(), in_place=True)
    object.__setattr__(held._clock, "name", clock)
    answer = serve(held, block(1, 1))[1][1]
    assert answer["cpu_ns"] is None
    assert Visit.of(blocks("works", 0.5), [answer]).cpu is None
