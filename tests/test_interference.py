import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from gnnbench import cpu
from gnnbench.cpu import DISTURBED, Watch, _own_seconds


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def share(seconds=0.6):
    watch = Watch()
    watch.begin()
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


class System:
    """Stands in for the processors: two of them, in seconds, and how long they and this process worked."""

    def __init__(self, monkeypatch):
        self.now = self.busy = self.own = 0.0
        monkeypatch.setattr(cpu, "_look", lambda _cores: (self.now, self.busy, self.own))
        monkeypatch.setattr(cpu.time, "sleep", self.run)

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
    return watch.others_share()


def test_what_is_timed_for_long_has_a_window_of_its_own(system):
    watch = Watch([0, 1])
    system.run(5, others=1)
    assert timed(watch, system, 0.5, own=1) == 0
    assert timed(watch, system, 0.5, own=1, others=1) == pytest.approx(0.5)


def test_a_short_window_begins_with_what_ran_before(system):
    watch = Watch([0, 1])
    system.run(0.2, own=1)
    assert timed(watch, system, 0.08, own=1, others=1) == pytest.approx(0.08 / 0.28 / 2)
    assert timed(watch, system, 0.08, own=1, others=1) == pytest.approx(0.16 / 0.36 / 2)
    for _ in range(3):
        latest = timed(watch, system, 0.08, own=1, others=1)
    assert latest == pytest.approx(0.5), "no further back than it must"


def test_where_nothing_ran_before_it_looks_on_for_a_moment(system):
    watch = Watch([0, 1])
    assert timed(watch, system, 0.08, own=1, others=1) == pytest.approx(0.08 / 0.25 / 2)
    assert system.now == pytest.approx(0.25)


@pytest.mark.parametrize("cores", [[], [10_000]])
def test_where_cores_are_not_known_all_are_looked_at(cores):
    watch = Watch(cores)
    watch.begin()
    spin(0.3)
    assert 0 <= watch.others_share() <= 1.1 * (psutil.cpu_count() or 1)
