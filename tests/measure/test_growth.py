"""All cases are watched in one process of few objects: among all that are here, each would take seconds."""

import ctypes
import gc
import itertools
import json
import random
import subprocess
import sys
from collections import deque

import numpy as np
import pytest

from gnnbench.measure import growth
from gnnbench.measure.growth import CALLS, watch
from tests.suite import ROOT

CASES = {}
"""What makes a call that is watched, by its name."""


def case(make):
    CASES[make.__name__] = make


class Layer:
    def __init__(self, outputs):
        self.outputs = outputs


@case
def nothing():
    return lambda: float(len([[], {}]))


@case
def objects():
    layer = Layer([])
    return lambda: layer.outputs.append([set()]) or 1.0


UNTRACKED = {
    "numbers": (lambda number: number + 0.5, 24),
    "texts": (lambda number: f"{number:0100}", 149),
    "arrays": (lambda number: np.full(10, number), 192),
}


def untracked(made):
    """A dictionary of such objects is not tracked itself."""
    layer, numbers = Layer({}), itertools.count(1000)

    def call():
        layer.outputs["last"] = layer.outputs[next(numbers)] = made(len(layer.outputs))
        return 1.0

    return call


@case
def blocks_that_no_container_holds():
    """Native libraries keep some for themselves."""

    def call():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(str(random.random())))
        return 1.0

    return call


@case
def what_comes_and_goes():
    kept, cache = deque(maxlen=3), {}
    calls, last = 0, None

    def call():
        nonlocal calls, last
        calls += 1
        last = str(random.random()) + str(last)[:20]
        kept.append([calls])
        cache.setdefault(min(calls, 20), [])  # filled by the first 20 calls
        if calls % 10 == 0:
            kept.clear()
        return 1.0

    return call


@case
def what_takes_the_place_of_something_older():
    """At first all older objects are hidden, and only the new ones are seen."""
    kept = deque(([] for _ in range(200)), maxlen=200)
    return lambda: kept.append([]) or 1.0


@case
def a_cycle():
    def call():
        one = []
        one.append(one)
        return 1.0

    return call


@case
def a_class():
    return lambda: float(bool(type("Made", (), {})))


@case
def native_memory():
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = [ctypes.c_size_t]
    library.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]

    def call():
        library.memset(library.malloc(2**20), 1, 2**20)
        return 1.0

    return call


@case
def a_time_that_rises():
    return (1e-3 * (10 + number) for number in range(200)).__next__


def noise_drift_and_steps(seed):
    draw = random.Random(seed)
    step = draw.randrange(100)

    def seconds():
        for number in range(200):
            machine = (1 + number / 200) * (3 if number > step else 1)  # a neighbour comes, and stays
            yield machine * draw.lognormvariate(0, 0.5)

    return seconds().__next__


@case
def other_processes():
    calls = itertools.count()

    def call():
        assert next(calls) < growth.FIRST
        subprocess.run(["true"], check=True)
        return 1.0

    return call


def main():
    """Print what is found for each case, and how many objects are hidden after one that fails."""
    found = {name: watch(make()) for name, make in CASES.items()}
    found |= {name: watch(untracked(made)) for name, (made, _) in UNTRACKED.items()}
    found |= {f"noise {seed}": watch(noise_drift_and_steps(seed)) for seed in range(8)}
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


def test_nothing_grows(found):
    nothing = found["nothing"]
    assert nothing["objects"] == []
    assert (nothing["tensor_bytes"], nothing["resident_bytes"], nothing["bytes"]) == (0, 0, 0)
    assert not nothing["slower"]
    assert len(nothing["resident"]) == 6
    assert found["hidden"] == 0, "objects are hidden only meanwhile, also if a call fails"


def test_objects_that_stay_are_counted_exactly_and_their_holder_is_named(found):
    objects = found["objects"]
    assert by_type(objects) == {"list": CALLS, "set": CALLS}
    assert {one["held_by"] for one in objects["objects"]} == {"Layer.outputs (list)"}
    assert objects["bytes"] >= CALLS * (object.__sizeof__(set()) + object.__sizeof__([]))


@pytest.mark.parametrize("kind", UNTRACKED)
def test_what_the_garbage_collector_does_not_track(found, kind):
    (one,) = found[kind]["objects"]
    assert one["type"] == "blocks of untracked objects (numbers, texts, arrays, plain dicts)"
    assert one["count"] == 2 * CALLS  # with the keys
    assert one["bytes"] == pytest.approx(CALLS * (UNTRACKED[kind][1] + 28), rel=0.1)
    assert one["held_by"] == "Layer.outputs (dict)"


@pytest.mark.parametrize(
    "name",
    [
        *("blocks_that_no_container_holds", "what_comes_and_goes", "a_cycle", "a_class"),
        "what_takes_the_place_of_something_older",
    ],
)
def test_what_is_no_growth(found, name):
    assert by_type(found[name]) == {}


def test_memory_that_native_code_does_not_free(found):
    native = found["native_memory"]
    # Not all of it: some of these pages were resident before.
    assert 0.5 * CALLS * 2**20 < native["resident_bytes"] < 1.5 * CALLS * 2**20
    assert native["bytes"] == native["resident_bytes"]
    assert native["objects"] == []


def test_a_time_that_rises_with_each_call(found):
    rising = found["a_time_that_rises"]
    assert rising["slower"]
    assert rising["fastest_ns"] == pytest.approx([15e6, 24e6, 33e6, 42e6, 51e6])


def test_noise_drift_and_steps_are_no_growth_of_time(found):
    assert [name for name in found if name.startswith("noise") and found[name]["slower"]] == []


def test_a_call_that_starts_processes_is_left_out(found):
    assert found["other_processes"] == {"left_out": "the work is done in other processes"}
