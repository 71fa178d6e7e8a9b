import os
import subprocess
import sys
import time

import psutil
import pytest

from gnnbench.interference import DISTURBED, Watch


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def share(seconds=0.6):
    watch = Watch()
    spin(seconds)
    return watch.others_share()


def test_what_a_busy_neighbour_takes_is_seen_and_what_this_process_takes_is_not():
    cores = len(os.sched_getaffinity(0))
    alone = min(share() for _ in range(5))  # other tests run beside this one
    busy = "while True: pass"
    neighbours = [subprocess.Popen([sys.executable, "-c", busy]) for _ in range(cores)]
    try:
        time.sleep(0.3)
        beside = max(share() for _ in range(5))
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()
    assert beside > alone
    # This process spins on one core of several, or shares it.
    assert beside > 0.4 > DISTURBED


def test_a_short_time_tells_nothing():
    assert Watch().others_share() is None


@pytest.mark.parametrize("cores", [[], [10_000]])
def test_where_cores_are_not_known_all_are_looked_at(cores):
    watch = Watch(cores)
    spin(0.3)
    assert 0 <= watch.others_share() <= 1.1 * (psutil.cpu_count() or 1)
