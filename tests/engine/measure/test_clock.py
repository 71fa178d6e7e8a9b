import itertools
import time

import pytest
import torch

from gnnbench.engine.measure.clock import Call, HostClock
from gnnbench.engine.measure.layouts import clock_for


def test_a_round_is_timed_by_two_readings_around_all_of_its_iterations():
    ticks = itertools.count()
    calls = []
    clock = HostClock(lambda: float(next(ticks)), 1.0)
    assert clock.block(Call(calls.append, (1,), {}), 3, 1).seconds == [1.0, 1.0, 1.0]
    assert clock.block(Call(calls.append, (2,), {}), 2, 5).seconds == [1.0, 1.0]
    assert calls == [1] * 3 + [2] * 10


def test_resolution_is_the_smallest_step():
    readings = itertools.accumulate(itertools.cycle([0.0, 0.5, 0.0, 2.0]))
    assert HostClock.of(lambda: next(readings)).resolution_seconds == 0.5
    assert 0 < HostClock.of().resolution_seconds < 1e-4
    assert HostClock.of(time.process_time).name == "process_time"


def test_the_clock_follows_the_inputs_devices():
    assert clock_for(("cpu",), time.perf_counter, flush=True).name == "perf_counter"
    assert clock_for((), time.process_time, flush=True).name == "process_time"
    if not torch.cuda.is_available():
        with pytest.raises((RuntimeError, AssertionError)):
            clock_for(("cuda",), time.perf_counter, flush=True)
