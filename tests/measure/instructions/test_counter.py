import sys
from functools import partial

from gnnbench.engine.measure.instructions import counter

HERE = __name__


def inner():
    return sorted([2, 1])


def outer(times):
    return [inner() for _ in range(times)]


def deep(levels):
    return deep(levels - 1) if levels else inner()


def test_events_are_calls_and_returns_of_python_functions():
    before = sys.getprofile()
    events = counter.record(inner)
    assert events.names == [f"{HERE}:inner", None]
    assert sys.getprofile() is before


def test_deep_calls_are_left_out_where_there_are_too_many():
    events = counter.record(partial(outer, 2 * counter.MOST_EVENTS))
    assert f"{HERE}:inner" not in events.names
    assert f"{HERE}:outer" in events.names
    assert len(events.names) <= counter.MOST_EVENTS
    few = counter.record(partial(deep, 5))
    assert few.deepest == 7
    assert few.names.count(f"{HERE}:deep") == 6
