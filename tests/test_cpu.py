import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from gnnbench.engine.ground import cpu
from gnnbench.engine.ground.cpu import (
    CONTENDED,
    ContentionWatch,
    Placement,
    RealTime,
    _last_started,
    _own_seconds,
    cores,
)

needs_two_cores = pytest.mark.skipif(
    len(cores()) < 2 or _last_started() is None,
    reason="needs two cores, and a system that tells what was started",
)

FIRST = cores()[0]


def placement(function=int):
    """Return one that has watched calls of a function, some of which nobody else disturbed."""
    found = Placement()
    for _ in range(20):
        with found.watching():
            function()
    return found


@pytest.fixture(autouse=True)
def allowed():
    """The cores of this thread, which are its own again afterwards."""
    allowed = os.sched_getaffinity(0)
    yield allowed
    os.sched_setaffinity(0, allowed)


@pytest.fixture
def started():
    """Return a function that starts a thread and a process which wait, and tells their numbers."""
    ended = threading.Event()
    with ExitStack() as stack:
        stack.callback(ended.set)

        def start():
            thread = threading.Thread(target=ended.wait, daemon=True)
            thread.start()
            process = stack.enter_context(subprocess.Popen(["sleep", "60"]))
            stack.callback(process.kill)
            return thread.native_id, process.pid

        yield start


@needs_two_cores
def test_the_thread_is_kept_there_for_as_long_and_what_was_started_before_is_not(started, allowed):
    others = started()
    place = placement()
    assert place.cores == cores()
    for core in cores():
        with place.on(core):
            assert os.sched_getaffinity(0) == {core}
            assert [os.sched_getaffinity(one) for one in others] == [allowed] * 2
        assert os.sched_getaffinity(0) == allowed


@needs_two_cores
def test_what_was_started_meanwhile_is_free_afterwards_also_after_an_error(started, allowed):
    others = []

    def fail():
        others.extend(started())
        raise RuntimeError

    with pytest.raises(RuntimeError), placement().on(FIRST):
        fail()
    assert [os.sched_getaffinity(one) for one in (0, *others)] == [allowed] * 3


@needs_two_cores
@pytest.mark.parametrize("core", [None, 10_000])
def test_without_a_core_that_is_there_it_runs_anywhere(core):
    with placement().on(core):
        assert len(os.sched_getaffinity(0)) > 1


@needs_two_cores
def test_a_call_that_binds_its_thread_has_its_way_and_a_bound_one_has_its_cores_only():
    one, other = cores()[:2]
    with placement().on(one):
        os.sched_setaffinity(0, {other})
    assert os.sched_getaffinity(0) == {other}
    assert placement().cores == [other]


def start_a_thread():
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


def start_a_process():
    subprocess.run(["true"], check=True)


@needs_two_cores
def test_what_starts_something_or_was_not_watched_has_all_cores(monkeypatch):
    assert placement(start_a_thread).cores == []
    assert placement(start_a_process).cores == []
    assert Placement().cores == []
    # A system that does not tell what was started.
    monkeypatch.setattr(Path, "read_text", lambda *_args, **_named: "0.00 0.00 0.00 0/0 0")
    assert placement().cores == []


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def share():
    watch = ContentionWatch()
    watch.begin()
    spin(0.3)
    return watch.contention_share()


def test_what_a_busy_neighbour_takes_is_seen():
    # Children of a shell that ends are none of this process's.
    command = f"{sys.executable} -c 'while True: pass' >/dev/null 2>&1 & echo $!"
    neighbours = [int(subprocess.check_output(["sh", "-c", command])) for _ in os.sched_getaffinity(0)]
    try:
        # This process spins on one core of several, or shares it.
        assert any(share() > 0.35 > CONTENDED for _ in range(8))
    finally:
        for neighbour in neighbours:
            os.kill(neighbour, signal.SIGKILL)


def test_what_children_use_is_this_process_s_own():
    before = _own_seconds()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as child:
        deadline = time.monotonic() + 60
        while _own_seconds() - before < 0.1:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        child.kill()
    assert _own_seconds() - before >= 0.1


class System:
    """Stands in for the processors: two of them, in seconds, and how long they and this process worked."""

    def __init__(self, monkeypatch):
        self.now = self.busy = self.own = 0.0
        monkeypatch.setattr(cpu, "_look", lambda _cores: (self.now, self.busy, self.own))
        monkeypatch.setattr(RealTime, "sleep", self.run)

    def run(self, seconds, others=0.0, own=0.0):
        self.now += seconds
        self.busy += (others + own) * seconds
        self.own += own * seconds


@pytest.fixture
def system(monkeypatch):
    return System(monkeypatch)


def timed(watch, system, seconds, **load):
    watch.begin()
    system.run(seconds, **load)
    return watch.contention_share()


def test_what_is_timed_for_long_has_a_window_of_its_own_and_a_short_one_begins_with_what_ran_before(system):
    watch = ContentionWatch([0, 1])
    system.run(5, others=1)
    assert timed(watch, system, 0.5, own=1) == 0
    assert timed(watch, system, 0.5, own=1, others=1) == pytest.approx(0.5)
    watch = ContentionWatch([0, 1])
    system.run(0.2, own=1)
    assert timed(watch, system, 0.08, own=1, others=1) == pytest.approx(0.08 / 0.28 / 2)
    assert timed(watch, system, 0.08, own=1, others=1) == pytest.approx(0.16 / 0.36 / 2)
    for _ in range(3):
        latest = timed(watch, system, 0.08, own=1, others=1)
    assert latest == pytest.approx(0.5), "no further back than it must"


def test_where_nothing_ran_before_it_looks_on_for_a_moment(system):
    watch = ContentionWatch([0, 1])
    assert timed(watch, system, 0.08, own=1, others=1) == pytest.approx(0.08 / 0.25 / 2)
    assert system.now == pytest.approx(0.25)
