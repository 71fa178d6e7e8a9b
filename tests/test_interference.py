import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from gnnbench.interference import DISTURBED, Watch, _own_seconds


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def share(seconds=0.6):
    watch = Watch()
    spin(seconds)
    return watch.others_share()


def start(command):
    """Start a program that is no child of this process, and return its number."""
    return int(subprocess.check_output(["sh", "-c", f"{command} >/dev/null 2>&1 & echo $!"]))


def test_what_a_busy_neighbour_takes_is_seen():
    command = f"{sys.executable} -c 'while True: pass'"
    neighbours = [start(command) for _ in os.sched_getaffinity(0)]
    try:
        time.sleep(0.3)
        beside = max(share() for _ in range(5))
    finally:
        for neighbour in neighbours:
            os.kill(neighbour, signal.SIGKILL)
    # This process spins on one core of several, or shares it.
    assert beside > 0.35 > DISTURBED


def test_what_children_use_is_this_process_s_own():
    before = _own_seconds()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as child:
        time.sleep(1)
        assert _own_seconds() - before > 0.1
        child.kill()
    assert _own_seconds() - before > 0.1


def test_a_short_time_tells_nothing():
    assert Watch().others_share() is None


@pytest.mark.parametrize("cores", [[], [10_000]])
def test_where_cores_are_not_known_all_are_looked_at(cores):
    watch = Watch(cores)
    spin(0.3)
    assert 0 <= watch.others_share() <= 1.1 * (psutil.cpu_count() or 1)
