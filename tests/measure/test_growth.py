import ctypes
import gc
import itertools
import random
from collections import deque

import numpy as np
import pytest

from gnnbench.measure import growth
from gnnbench.measure.growth import CALLS, watch


class Layer:
    def __init__(self):
        self.outputs = []


def by_type(found):
    return {one["type"].rpartition(".")[2]: one["count"] for one in found["objects"]}


def test_nothing_grows():
    found = watch(lambda: float(len([[], {}])))
    assert found["objects"] == []
    assert (found["tensor_bytes"], found["resident_bytes"], found["bytes"]) == (0, 0, 0)
    assert not found["slower"]
    assert len(found["resident"]) == 6


def test_objects_that_stay_are_counted_exactly_and_their_holder_is_named():
    layer = Layer()

    def call():
        layer.outputs.append([set()])
        return 1.0

    found = watch(call)
    assert by_type(found) == {"list": CALLS, "set": CALLS}
    assert {one["held_by"] for one in found["objects"]} == {"Layer.outputs (list)"}
    assert found["bytes"] >= CALLS * (object.__sizeof__(set()) + object.__sizeof__([]))


@pytest.mark.parametrize(
    ("made", "size"),
    [
        (lambda number: number + 0.5, 24),
        (lambda number: f"{number:0100}", 149),
        (lambda number: np.full(10, number), 192),
    ],
)
def test_what_the_garbage_collector_does_not_track(made, size):
    """A dictionary of such objects is not tracked itself."""
    layer = Layer()
    layer.outputs = {}
    numbers = itertools.count(1000)

    def call():
        layer.outputs["last"] = layer.outputs[next(numbers)] = made(len(layer.outputs))
        return 1.0

    (found,) = watch(call)["objects"]
    assert found["type"] == "blocks of untracked objects (numbers, texts, arrays, plain dicts)"
    assert found["count"] == 2 * CALLS  # with the keys
    assert found["bytes"] == pytest.approx(CALLS * (size + 28), rel=0.1)
    assert found["held_by"] == "Layer.outputs (dict)"


def test_blocks_that_no_container_holds_are_no_growth():
    """Native libraries keep some for themselves."""

    def call():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(str(random.random())))
        return 1.0

    assert watch(call)["objects"] == []


def test_what_comes_and_goes_does_not_count():
    kept = deque(maxlen=3)
    cache = {}
    calls = 0
    last = None

    def call():
        nonlocal calls, last
        calls += 1
        last = str(random.random()) + str(last)[:20]
        kept.append([calls])
        cache.setdefault(min(calls, 20), [])  # filled by the first 20 calls
        if calls % 10 == 0:
            kept.clear()
        return 1.0

    assert by_type(watch(call)) == {}


def test_what_takes_the_place_of_something_older_does_not_count():
    """At first all older objects are hidden, and only the new ones are seen."""
    kept = deque(([] for _ in range(200)), maxlen=200)

    def call():
        kept.append([])
        return 1.0

    assert by_type(watch(call)) == {}


def test_a_cycle_is_garbage():
    def call():
        one = []
        one.append(one)
        return 1.0

    assert by_type(watch(call)) == {}


def test_classes_are_not_kept_alive():
    def call():
        type("Made", (), {})
        return 1.0

    assert by_type(watch(call)) == {}


def test_memory_that_native_code_does_not_free():
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = [ctypes.c_size_t]
    library.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]

    def call():
        library.memset(library.malloc(2**20), 1, 2**20)
        return 1.0

    found = watch(call)
    # Not all of it: some of these pages were resident before.
    assert 0.5 * CALLS * 2**20 < found["resident_bytes"] < 1.5 * CALLS * 2**20
    assert found["bytes"] == found["resident_bytes"]
    assert found["objects"] == []


def times(seconds):
    """Return what `watch` finds where the calls take these times."""
    left = iter(seconds)
    return watch(lambda: next(left))


def test_a_time_that_rises_with_each_call():
    found = times(1e-3 * (10 + number) for number in range(200))
    assert found["slower"]
    assert found["fastest_ns"] == pytest.approx([15e6, 24e6, 33e6, 42e6, 51e6])


@pytest.mark.parametrize("seed", range(8))
def test_noise_drift_and_steps_are_no_growth_of_time(seed):
    draw = random.Random(seed)
    step = draw.randrange(100)

    def seconds():
        for number in range(200):
            machine = (1 + number / 200) * (3 if number > step else 1)  # a neighbour comes, and stays
            yield machine * draw.lognormvariate(0, 0.5)

    assert not times(seconds())["slower"]


def test_objects_are_hidden_only_meanwhile():
    with pytest.raises(ZeroDivisionError):
        watch(lambda: 1 / 0)
    assert gc.get_freeze_count() == 0


def test_a_call_that_starts_processes_is_left_out():
    import subprocess
    import sys

    calls = 0

    def call():
        nonlocal calls
        calls += 1
        subprocess.run([sys.executable, "-c", ""], check=True)
        return 1.0

    assert watch(call) == {"left_out": "the work is done in other processes"}
    assert calls == growth.FIRST
