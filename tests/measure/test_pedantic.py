import pytest
import torch

from gnnbench.measure.clock import HostClock
from gnnbench.measure.measurement import Measurement
from gnnbench.measure.pedantic import Pedantic


def measure(target, args=(), kwargs=None, setup=None, teardown=None, rounds=1, warmup_rounds=0, iterations=1):
    asked = Pedantic(target, args, kwargs or {}, setup, teardown, rounds, warmup_rounds, iterations)
    measurement = Measurement("perf_counter", "one", iterations=iterations)
    result = asked.measure(HostClock.of(), measurement.add, disable_gc=True)
    return result, measurement


def test_as_many_calls_as_asked_for():
    calls = []
    result, measurement = measure(lambda: calls.append(1) or len(calls), rounds=4, warmup_rounds=2)
    assert len(calls) == 6
    assert result == 6
    assert measurement.rounds == 4
    assert [len(block) for block in measurement.blocks_ns] == [1] * 4


def test_iterations_need_one_more_call_for_the_result():
    calls = []
    result, measurement = measure(lambda: calls.append(1) or "done", rounds=2, iterations=5)
    assert len(calls) == 11
    assert result == "done"
    assert measurement.rounds == 2


def test_set_up_and_tear_down_surround_each_round():
    events = []
    measure(
        lambda x, y: events.append(("run", x, y)),
        setup=lambda: events.append("setup") or ((1,), {"y": 2}),
        teardown=lambda x, y: events.append(("teardown", x, y)),
        rounds=2,
        warmup_rounds=1,
    )
    assert events == ["setup", ("run", 1, 2), ("teardown", 1, 2)] * 3


def test_arguments_come_from_one_side_only():
    with pytest.raises(TypeError, match="Can't use `args`"):
        measure(int, (1,), setup=lambda: ((2,), {}))


def test_the_inputs_are_those_that_were_given():
    x = torch.zeros(3)
    result, _ = measure(torch.Tensor.add_, (x, 1), rounds=4)
    assert result is x
    assert x.sum() == 12
