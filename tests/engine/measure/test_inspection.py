import cProfile
import functools
import gc
import itertools
import os
import queue
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from gnnbench.engine.ground import codec
from gnnbench.engine.measure.clock import Call
from gnnbench.engine.measure.fingerprint import values
from gnnbench.engine.measure.fingerprint.digest import Contents
from gnnbench.engine.measure.fingerprint.recording import python_calls
from gnnbench.engine.measure.inspection import inspect


def inspected(function, *args, devices=()):
    return inspect(Call(function, args, {}), devices)


def test_tensors_are_counted_and_without_them_there_is_a_fingerprint_alone():
    found = inspected(torch.add, torch.ones(2), torch.ones(2), devices=["cpu"])
    assert found.unseen is None
    assert found.as_json()["counts"]["aten::add"] == 1
    assert found.as_json()["fingerprint"] == codec.encode(found.fingerprint)
    found = inspected(sorted, [2, 1])
    assert found.counters is None
    assert found.fingerprint is not None


def test_a_call_that_cannot_be_inspected_says_why():
    found = inspected({}.__getitem__, 1).as_json()
    nothing = {"counts": {}, "memory": None, "fingerprint": None, "launches": []}
    assert found == {**nothing, "unseen": "the call cannot be inspected (KeyError: 1)"}

    def multiplies(x):
        return x @ x  # in torch

    line = multiplies.__code__.co_firstlineno + 1
    why = inspected(multiplies, torch.ones(2, 3), devices=["cpu"]).unseen
    assert why.startswith("the call cannot be inspected (RuntimeError: mat1 and mat2 shapes")
    assert why.endswith(f", test_inspection.py:{line})")
    assert "\n" not in why


class Number:
    def __init__(self, number):
        self.number = number

    def __abs__(self):
        return abs(self.number)


def test_what_reads_too_many_objects_is_inspected_briefly(monkeypatch):
    """Nothing is read beyond them, and it is not called another time."""
    monkeypatch.setattr(values, "_MOST", 100)
    calls, looked = [], []
    plain = Contents.plain
    monkeypatch.setattr(Contents, "plain", lambda self, value: looked.append(1) or plain(self, value))

    def call(numbers):
        calls.append(1)
        return [abs(one) for one in map(Number, numbers)]

    assert inspected(call, range(2000)).unseen == "inspection given up: the call may read too many objects"
    assert len(calls) == 2
    assert len(looked) < 1000


def start_thread():
    thread = threading.Thread(target=len, args=((),))
    thread.start()
    thread.join()


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (start_thread, "the call starts a thread"),
        (functools.partial(subprocess.run, ["true"], check=True), "the call starts a process"),
        (lambda: os.system("true"), "the call starts a process"),
        (lambda: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0), "the call starts a process"),
        (lambda: sys.setprofile(None), "the call sets a profile function"),
        (lambda: cProfile.Profile().runcall(len, ()), "the call starts a profiler"),
    ],
    ids=["thread", "subprocess", "system", "spawn", "profile", "profiler"],
)
def test_what_starts_something_or_pauses_the_recording_has_no_fingerprint(function, why):
    found = inspected(function)
    assert found.fingerprint is None
    assert found.unseen == why


def test_a_pool_that_waited_for_work_matters_and_a_thread_that_waits_all_the_time_does_not():
    with ThreadPoolExecutor(1, thread_name_prefix="pool") as pool:
        pool.submit(len, ()).result()
        assert inspected(lambda: pool.submit(len, ()).result()).unseen == "thread pool_0 ran meanwhile"
    waiting = queue.SimpleQueue()
    thread = threading.Thread(target=waiting.get)
    thread.start()
    try:
        assert inspected(sorted, [2, 1]).unseen is None
    finally:
        waiting.put(None)
        thread.join()


@pytest.mark.parametrize("devices", [(), ("cpu",)])
def test_a_call_that_is_recorded_too_long_is_given_up_and_counted_all_the_same(devices):
    """In a time in which a look at the clock takes a second."""

    def call(tensor, count):
        return tensor + sum(abs(Number(number)) for number in range(count))

    why = "inspection given up: recording takes more than 50 times as long as the call"
    for count, unseen in ((100, None), (20_000, why)):
        now = itertools.count().__next__
        found = inspect(Call(call, (torch.ones(1), count), {}), devices, now=now)
        assert found.unseen == unseen
        if devices:
            assert found.counters.counts["python_calls"]["Python calls"] == 3 * count + 3


def test_numbers_that_take_too_long_to_hash_are_given_up(monkeypatch):
    monkeypatch.setattr(Contents, "most_bytes", 1 << 20)
    why = "inspection given up: integer tensors exceed 1 MiB"
    for size, found in (((1 << 17), None), ((1 << 17) + 1, why)):
        assert inspected(len, torch.ones(size, dtype=torch.int64), devices=["cpu"]).unseen == found
        assert inspected(len, np.ones(size, dtype=np.int64)).unseen == found
    assert inspected(len, np.ones((1 << 17) + 1)).unseen is None, "which are not hashed"


@pytest.mark.parametrize("devices", [(), ("cpu",)])
def test_the_garbage_collector_does_not_run_meanwhile(devices):
    """Its finalisers would be recorded."""
    collecting = []
    inspected(lambda: collecting.append(gc.isenabled()), devices=devices)
    assert collecting
    assert not any(collecting)
    assert gc.isenabled()


def test_a_deeper_folder_has_no_more_python_calls(tmp_path):
    """PyG resolves the path of its own file when it makes a layer."""
    deeper = tmp_path / "one" / "more"
    deeper.mkdir(parents=True)
    found = [python_calls(lambda folder=folder: os.path.realpath(folder)) for folder in (tmp_path, deeper)]
    assert found[0] == found[1]
