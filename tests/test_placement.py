import os
import subprocess
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from gnnbench.cpu import Placement, _last_started, cores

if len(cores()) < 2 or _last_started() is None:
    pytest.skip("needs two cores, and a system that tells what was started", allow_module_level=True)


FIRST = cores()[0]


def placement(function=int):
    """Return one that has watched calls of a function, some of which nobody else disturbed."""
    found = Placement()
    for _ in range(20):
        with found.watching():
            function()
    return found


@pytest.fixture(autouse=True)
def _as_before():
    allowed = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, allowed)


@pytest.fixture
def waiting():
    """A thread that waits, not yet started."""
    ended = threading.Event()
    yield threading.Thread(target=ended.wait, daemon=True)
    ended.set()


def test_the_thread_is_kept_there_for_as_long_and_others_are_not(waiting):
    allowed = os.sched_getaffinity(0)
    waiting.start()
    place = placement()
    assert place.cores == cores()
    for core in cores():
        with place.on(core):
            assert os.sched_getaffinity(0) == {core}
            assert os.sched_getaffinity(waiting.native_id) == allowed
        assert os.sched_getaffinity(0) == allowed


def test_without_a_core_it_runs_anywhere():
    with placement().on(None):
        assert len(os.sched_getaffinity(0)) > 1


def test_a_thread_that_was_started_meanwhile_is_free_afterwards_and_an_error_frees_too(waiting):
    allowed = os.sched_getaffinity(0)
    with pytest.raises(RuntimeError), placement().on(FIRST):
        [thread.start() for thread in (waiting, waiting)]  # threads can be started only once
    assert os.sched_getaffinity(waiting.native_id) == os.sched_getaffinity(0) == allowed


@pytest.fixture
def sleeping():
    """Start processes that sleep; they end with the test."""
    with ExitStack() as stack:

        def start():
            process = stack.enter_context(subprocess.Popen(["sleep", "60"]))
            stack.callback(process.kill)
            return process.pid

        yield start


def test_so_is_a_process(sleeping):
    allowed = os.sched_getaffinity(0)
    with placement().on(FIRST):
        process = sleeping()
    assert os.sched_getaffinity(process) == allowed


def test_a_process_that_was_started_before_is_left_where_it_is(sleeping):
    allowed, process, place = os.sched_getaffinity(0), sleeping(), placement()
    assert place.cores == cores()
    with place.on(FIRST):
        assert os.sched_getaffinity(process) == allowed


def test_a_call_that_binds_its_thread_has_its_way():
    one, other = cores()[:2]
    with placement().on(one):
        os.sched_setaffinity(0, {other})
    assert os.sched_getaffinity(0) == {other}


def test_a_thread_that_is_bound_has_its_cores_only():
    os.sched_setaffinity(0, {FIRST})
    assert placement().cores == [FIRST]


def test_a_core_that_is_not_there_is_none():
    with placement().on(10_000):
        assert len(os.sched_getaffinity(0)) > 1


def start_a_thread():
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


def start_a_process():
    subprocess.run(["true"], check=True)


@pytest.mark.parametrize("function", [start_a_thread, start_a_process])
def test_what_starts_something_has_all_cores(function):
    assert placement(function).cores == []


def test_nothing_was_watched():
    assert Placement().cores == []


def test_a_system_that_does_not_tell_what_was_started(monkeypatch):
    monkeypatch.setattr(Path, "read_text", lambda *_args, **_named: "0.00 0.00 0.00 0/0 0")
    assert placement().cores == []
