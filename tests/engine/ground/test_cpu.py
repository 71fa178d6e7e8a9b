import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from gnnbench.engine.ground import cpu
from gnnbench.engine.ground.cpu import (
    CONTENDED,
    ContentionWatch,
    Placement,
    RealTime,
    _last_started,
    _process_seconds,
    cores,
)

needs_two_cores = pytest.mark.skipif(
    len(cores()) < 2 or _last_started() == "0",
    reason="needs two cores, and a system that tells what was started",
)


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
            return [thread.native_id, process.pid]

        yield start


@needs_two_cores
def test_the_thread_alone_is_bound_and_what_it_starts_is_free_also_after_an_error(started, allowed):
    others = started()
    place = placement()
    assert place.cores == cores()

    def fail():
        assert os.sched_getaffinity(0) == {core}
        assert [os.sched_getaffinity(task) for task in others] == [allowed] * 2
        others.extend(started())
        raise RuntimeError

    core = cores()[0]
    with pytest.raises(RuntimeError), place.on(core):
        fail()
    assert [os.sched_getaffinity(task) for task in (0, *others)] == [allowed] * 5


@needs_two_cores
@pytest.mark.parametrize("core", [None, 10_000])
def test_without_a_core_that_is_there_it_runs_anywhere(core):
    with placement().on(core):
        assert len(os.sched_getaffinity(0)) > 1


@needs_two_cores
def test_a_call_that_binds_its_thread_has_its_way_and_a_bound_one_has_its_cores_only():
    first, second = cores()[:2]
    with placement().on(first):
        os.sched_setaffinity(0, {second})
    assert os.sched_getaffinity(0) == {second}
    assert placement().cores == [second]


@needs_two_cores
def test_what_starts_something_or_was_not_watched_has_all_cores(monkeypatch):
    assert placement(lambda: threading.Thread(target=int).start()).cores == []
    assert placement(lambda: subprocess.run(["true"], check=True)).cores == []
    assert Placement().cores == []
    # A system that does not tell what was started.
    monkeypatch.setattr(Path, "read_text", lambda *_args, **_named: "0.00 0.00 0.00 0/0 0")
    assert placement().cores == []


def share():
    watch = ContentionWatch()
    watch.begin()
    end = time.perf_counter() + 0.3
    while time.perf_counter() < end:
        pass
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
    before = _process_seconds()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as child:
        deadline = time.monotonic() + 60
        while _process_seconds() - before < 0.1:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        child.kill()
    assert _process_seconds() - before >= 0.1


@pytest.fixture
def system(monkeypatch):
    """Stands in for the processors: two of them, in seconds, and how long they and this process worked."""
    system = SimpleNamespace(now=0.0, busy=0.0, own=0.0)

    def run(seconds, others=0.0, own=0.0):
        system.now += seconds
        system.busy += (others + own) * seconds
        system.own += own * seconds

    system.run = run
    monkeypatch.setattr(cpu, "_sample", lambda _cores: (system.now, system.busy, system.own))
    monkeypatch.setattr(RealTime, "sleep", run)
    return system


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
