import sys
from functools import partial

from gnnbench.engine.measure.instructions import counter

HERE = __name__
LISTED = [f"{HERE}:outer.<locals>.<listcomp>"] * (sys.version_info < (3, 12))
"""A comprehension was a function of its own."""


def inner():
    return sorted([2, 1])


def outer(times):
    return [inner() for _ in range(times)]


def test_events_are_calls_and_returns_of_python_functions_without_deep_ones_where_there_are_too_many():
    before = sys.getprofile()
    events = counter.record(partial(outer, 1))
    assert [name for name in events.names if name] == [f"{HERE}:outer", *LISTED, f"{HERE}:inner"]
    assert events.deepest == 2 + len(LISTED)
    assert sys.getprofile() is before
    few = counter.record(partial(outer, 2 * counter.MOST_EVENTS))
    assert f"{HERE}:inner" not in few.names
    assert f"{HERE}:outer" in few.names
    assert len(few.names) <= counter.MOST_EVENTS
