"""The counter of this machine's processor, where there is one; else one that the kernel keeps itself."""

from functools import partial

import pytest

from gnnbench.measure.instructions import hardware
from gnnbench.measure.instructions.counter import assigned, record

CLOCK = 1, 1
"""PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK: nanoseconds of this thread."""


@pytest.fixture
def counter():
    try:
        found = hardware.Hardware() if not hardware.why_not() else hardware.Hardware(CLOCK)
    except OSError as error:
        pytest.skip(f"perf_event_open: {error}")
    yield found
    found.close()


def work(times):
    return sum(number * number for number in range(times))


def twice(times):
    return work(times) + work(times)


def test_more_work_counts_more(counter):
    counter.begin()
    small, large = (
        min(counter.count(partial(work, times)).total for _ in range(5)) for times in (2000, 64_000)
    )
    assert 10 * small < large


def test_divided_among_python_functions(counter):
    call = partial(twice, 20_000)
    events = record(call)
    counter.begin()
    found = counter.by_frame(call, events)
    assert list(found.names) == list(events.names)
    by_name = assigned(found)
    assert by_name[f"{__name__}:work"] > 10 * by_name[f"{__name__}:twice"]


def test_an_event_that_there_is_not(monkeypatch):
    with pytest.raises(OSError, match=r"."):
        hardware.Hardware((2**20, 0))
    monkeypatch.setattr(hardware, "_SYSCALLS", {})
    assert hardware.why_not() == "this machine, a virtual one perhaps, has no instruction counter"
