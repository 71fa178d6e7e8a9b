import sys
from functools import partial

from gnnbench.measure.instructions import counter
from gnnbench.measure.instructions.counter import ByFrame

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


def test_instructions_belong_to_the_innermost_function():
    names = ["m:outer", "m:inner", None, "m:inner", None, None]
    found = counter.assigned(ByFrame(names, [1, 20, 300, 40, 500, 60]))
    assert found == {counter.OUTSIDE: 1, "m:outer": 120, "m:inner": 800}


def test_other_events_than_before():
    assert counter.assigned(ByFrame(["m:outer", None], [1])) is None


def test_deep_calls_are_left_out_where_there_are_too_many():
    events = counter.record(partial(outer, 2 * counter.MOST_EVENTS))
    assert f"{HERE}:inner" not in events.names
    assert f"{HERE}:outer" in events.names
    assert len(events.names) <= counter.MOST_EVENTS
    few = counter.record(partial(deep, 5))
    assert few.deepest == 7
    assert few.names.count(f"{HERE}:deep") == 6
