"""Rounds of one call: those that a suite fixes, and those of whole calls."""

import pytest

from gnnbench.engine.measure.benchmark_fixture import Pedantic
from gnnbench.engine.measure.clock import Call, ClockError, HostClock
from gnnbench.engine.measure.measurement import Measurement
from gnnbench.engine.measure.sampler import Effort, Sampler
from tests.engine.process.test_held import CallClock


def pedantic(target, args=(), **options):
    asked = Pedantic(target, args, {}, **options)
    measurement = Measurement("perf_counter", "one", iterations=asked.iterations)
    result = asked.measure(HostClock.of(), measurement.add, disable_gc=True)
    return result, measurement


def test_as_many_calls_as_asked_for():
    calls = []
    result, measurement = pedantic(lambda: calls.append(1) or len(calls), rounds=4, warmup_rounds=2)
    assert result == len(calls) == 6
    assert [len(block) for block in measurement.blocks_ns] == [1] * 4
    # Iterations need one more call for the result.
    calls.clear()
    result, measurement = pedantic(lambda: calls.append(1) or len(calls), rounds=2, iterations=5)
    assert result == len(calls) == 11
    assert measurement.rounds == 2


def test_set_up_and_tear_down_surround_each_round():
    events = []
    pedantic(
        lambda x, y: events.append(("run", x, y)),
        setup=lambda: events.append("setup") or ((1,), {"y": 2}),
        teardown=lambda x, y: events.append(("teardown", x, y)),
        rounds=2,
        warmup_rounds=1,
    )
    assert events == ["setup", ("run", 1, 2), ("teardown", 1, 2)] * 3
    with pytest.raises(TypeError, match="Can't use `args`"):
        pedantic(int, (1,), setup=lambda: ((2,), {}))


def sampled(call_seconds, max_seconds=0.5, **effort):
    calls = []
    clock, measurement = CallClock(call_seconds), Measurement("test", "one")
    effort = Effort(0.02, max_seconds, 1e-5, **{"min_rounds": 3, **effort})
    call = Call(lambda x: calls.append(x) or len(calls), ("given",), {})
    result = Sampler(clock, effort, measurement, measurement.add).whole(call)
    return result, calls, clock, measurement


def test_short_calls_are_timed_until_the_interval_is_narrow_or_the_time_is_over():
    assert sampled(1e-3, max_seconds=9.0)[-1].stopped_by == "precision"
    found = sampled(0.1, max_seconds=0.95)[-1]
    assert (found.stopped_by, found.rounds) == ("time", 9)
    for seconds in (0.0, -1.0):
        with pytest.raises(ClockError, match="a round took no time on test"):
            sampled(seconds)


def test_warm_up_and_garbage_collection_are_as_asked_for():
    _, calls, clock, measurement = sampled(1.0, warmup_iterations=2, disable_gc=True)
    assert len(calls) == 5
    assert measurement.rounds == 3
    assert [block[3] for block in clock.blocks] == [True] * 2 + [False] * 3
