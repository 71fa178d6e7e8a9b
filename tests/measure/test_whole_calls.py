import gc

import pytest

from gnnbench.measure.clock import Block, Call, ClockError
from gnnbench.measure.measurement import Measurement
from gnnbench.measure.sampler import Effort
from gnnbench.measure.whole_calls import sample_whole


class SecondsClock:
    """Takes so many seconds a call, by its own account."""

    name = "test"
    resolution_seconds = 1e-9

    def __init__(self, call_seconds):
        self.call_seconds, self.blocks, self._now = call_seconds, [], 0.0

    def now(self):
        return self._now

    def block(self, call, rounds, iterations):
        self.blocks.append((rounds, iterations, gc.isenabled()))
        call()
        self._now += self.call_seconds
        return Block([self.call_seconds])


def sampled(call_seconds, max_seconds, **effort):
    calls = []
    clock, measurement = SecondsClock(call_seconds), Measurement("test", "one")
    effort = Effort(0.02, max_seconds, 1e-5, **{"min_rounds": 3, **effort})
    call = Call(lambda x: calls.append(x) or len(calls), ("given",), {})
    result = sample_whole(call, clock, effort, measurement, measurement.add)
    return result, calls, clock, measurement


def test_each_round_is_one_call_and_the_last_result_is_returned():
    result, calls, clock, measurement = sampled(2.0, max_seconds=0.5)
    assert set(calls) == {"given"}
    assert result == len(calls) == 4  # one before the three that are timed
    assert measurement.blocks_ns == [[2e9]] * 3
    assert measurement.stopped_by == "time"
    assert measurement.iterations == 1
    assert {block[:2] for block in clock.blocks} == {(1, 1)}


def test_short_calls_are_timed_until_the_interval_is_narrow_or_the_time_is_over():
    assert sampled(1e-3, max_seconds=9.0)[-1].stopped_by == "precision"
    found = sampled(0.1, max_seconds=0.95)[-1]
    assert found.stopped_by == "time"
    assert found.rounds == 9


def test_warm_up_and_garbage_collection_are_as_asked_for():
    _, calls, clock, measurement = sampled(1.0, max_seconds=0.5, warmup_iterations=2, disable_gc=True)
    assert len(calls) == 5
    assert measurement.rounds == 3
    assert [block[2] for block in clock.blocks] == [True] * 2 + [False] * 3


def test_a_clock_that_shows_no_time():
    with pytest.raises(ClockError, match="rounds had no positive time by test"):
        sampled(0.0, max_seconds=0.5)
