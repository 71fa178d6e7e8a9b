"""All cases are watched in one process of few objects: among all that are here, each would take seconds."""

import ctypes
import gc
import itertools
import json
import random
import subprocess
import sys
from collections import deque

import pytest

from gnnbench.measure import growth
from gnnbench.measure.growth import CALLS, watch
from tests.suite import ROOT

kept, old, numbers = [], deque(([] for _ in range(200)), maxlen=200), itertools.count(1)
recent, cache, started = deque(maxlen=3), {}, itertools.count()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]


def nothing():
    return float(len([[], {}]))


def objects():
    kept.append([set()])
    return 1.0


def what_comes_and_goes():
    number = next(numbers)
    recent.append([number])
    cache["last"] = str(random.random()) + cache.get("last", "")[:20]
    cache.setdefault(min(number, 20), [])  # filled by the first 20 calls
    if number % 10 == 0:
        recent.clear()
    return 1.0


def what_takes_the_place_of_something_older():
    """At first all older objects are hidden, and only the new ones are seen."""
    old.append([])
    return 1.0


def a_cycle():
    one = []
    one.append(one)
    return 1.0


def a_class():
    return float(bool(type("Made", (), {})))


def native_memory():
    libc.memset(libc.malloc(2**20), 1, 2**20)
    return 1.0


def other_processes():
    assert next(started) < growth.FIRST, "it is left out after these"
    subprocess.run(["true"], check=True)
    return 1.0


NO_GROWTH = (what_comes_and_goes, a_cycle, a_class, what_takes_the_place_of_something_older)


def noise_drift_and_steps(seed):
    draw = random.Random(seed)
    step = draw.randrange(100)
    for number in range(200):
        machine = (1 + number / 200) * (3 if number > step else 1)  # a neighbour comes, and stays
        yield machine * draw.lognormvariate(0, 0.5)


def main():
    """Print what is found for each case, and how many objects are hidden after one that fails."""
    cases = {call.__name__: call for call in (nothing, objects, native_memory, other_processes, *NO_GROWTH)}
    cases |= {f"noise {seed}": noise_drift_and_steps(seed).__next__ for seed in range(8)}
    cases["rising"] = (1e-3 * (10 + number) for number in range(200)).__next__
    found = {name: watch(call) for name, call in cases.items()}
    try:
        watch(lambda: 1 / 0)
    except ZeroDivisionError:
        found["hidden"] = gc.get_freeze_count()
    sys.stdout.write(json.dumps(found))


@pytest.fixture(scope="module")
def found():
    command = [sys.executable, "-c", "from tests.measure import test_growth; test_growth.main()"]
    return json.loads(subprocess.check_output(command, cwd=ROOT))


def by_type(found):
    return {one["type"].rpartition(".")[2]: one["count"] for one in found["objects"]}


@pytest.mark.nightly
def test_nothing_grows(found):
    nothing = found["nothing"]
    assert nothing["objects"] == []
    assert (nothing["tensor_bytes"], nothing["resident_bytes"], nothing["bytes"]) == (0, 0, 0)
    assert not nothing["slower"]
    assert len(nothing["resident"]) == 6
    assert found["hidden"] == 0, "objects are hidden only meanwhile, also if a call fails"


def test_objects_that_stay_are_counted_exactly(found):
    objects = found["objects"]
    assert by_type(objects) == {"list": CALLS, "set": CALLS}
    assert objects["bytes"] >= CALLS * (object.__sizeof__(set()) + object.__sizeof__([]))


@pytest.mark.parametrize("call", NO_GROWTH)
def test_what_is_no_growth(found, call):
    assert by_type(found[call.__name__]) == {}


def test_memory_that_native_code_does_not_free(found):
    native = found["native_memory"]
    # Not all of it: some of these pages were resident before.
    assert 0.5 * CALLS * 2**20 < native["resident_bytes"] < 1.5 * CALLS * 2**20
    assert native["bytes"] == native["resident_bytes"]
    assert native["objects"] == []


def test_a_time_that_rises_with_each_call(found):
    rising = found["rising"]
    assert rising["slower"]
    assert rising["fastest_ns"] == pytest.approx([15e6, 24e6, 33e6, 42e6, 51e6])


def test_noise_drift_and_steps_are_no_growth_of_time(found):
    assert [name for name in found if name.startswith("noise") and found[name]["slower"]] == []


def test_a_call_that_starts_processes_is_left_out(found):
    assert found["other_processes"] == {"left_out": "the work is done in other processes"}
