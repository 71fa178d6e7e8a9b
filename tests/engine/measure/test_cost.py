import sys
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from gnnbench.engine.ground import cpu
from gnnbench.engine.measure import cost
from gnnbench.engine.measure.clock import Block, Call
from gnnbench.engine.measure.cost import FEWEST_CALLS, Cost, measure_cost


def loop(n):
    total = 0
    for number in range(n):
        total += number
    return total


class Store:
    """Rebuilds in each 64th call."""

    def __init__(self, n=2000):
        self.calls, self.n = 0, n

    def add(self):
        self.calls += 1
        if self.calls % 64 == 0:
            loop(self.n)


def of(function, *args, **options):
    return measure_cost(lambda: Call(function, args, {}), **options)


def use_clock(monkeypatch, seconds, thread, process):
    clock = SimpleNamespace(seconds=seconds, thread_nanoseconds=thread, process_nanoseconds=process)
    for module in (cost, cpu):
        monkeypatch.setattr(module, "RealTime", clock)


def test_what_a_call_executes_is_counted_and_the_same_each_time():
    found, codes = of(lambda: len(str(loop(100))))
    assert found.steps > 200
    assert loop.__code__ in codes
    assert found.seconds > 0
    assert of(lambda: len(str(loop(100))))[0].steps == found.steps


def test_what_runs_in_each_64th_call_counts_for_its_share():
    found, codes = of(Store().add)
    other, _ = of(Store(20).add)
    assert found.steps > 10 * other.steps
    assert loop.__code__ in codes
    assert other.change(found) > 10
    assert found.change(other) < 0.1


def test_traced_calls_end_with_too_many_events_but_all_are_made(monkeypatch):
    monkeypatch.setattr(cost, "_MOST_STEPS", 1000)
    store, noted = Store(5000), []

    @contextmanager
    def noting():
        before = store.calls
        yield
        noted.append(store.calls - before)

    found, _ = of(store.add, watching=noting)
    assert found.steps == 2, "of the calls before the one with too many"
    assert noted == [FEWEST_CALLS - 64 + 3], "after three that are timed, and the traced ones"
    found, codes = of(loop, 5000)
    assert (found.steps, found.seconds, codes) == (None, pytest.approx(1e-4, rel=100), [])


def test_slow_calls_are_few_and_inputs_are_renewed_for_each_batch(monkeypatch):
    for seconds, most in ((0.5, 4), (2e-3, 6 * 9), (1e-5, 7 * 2049)):
        calls, copies = [], []
        monkeypatch.setattr(cost, "_shortest_seconds", lambda *_, seconds=seconds: seconds)
        call = Call(calls.append, (1,), {})
        monkeypatch.setattr(cost, "_BATCHES", 2)
        monkeypatch.setattr(cost, "_FEWEST_BATCHES", 2)
        measure_cost(lambda call=call, copies=copies: copies.append(1) or call)
        assert len(calls) <= most
        assert len(copies) == 4
        assert len(calls) > 2 * FEWEST_CALLS or seconds > 1e-3


def test_trace_and_profile_functions_are_as_before_also_after_an_error():
    def traced(*_):
        return None

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(traced)
    sys.setprofile(traced)
    try:
        of(loop, 1)
        with pytest.raises(ZeroDivisionError), cost.Tracer(9):
            raise ZeroDivisionError
        found = sys.gettrace(), sys.getprofile()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    assert found == (traced, traced)


@pytest.mark.parametrize(
    ("others", "policy", "known"), [(0.0, "", True), (0.5, "", False), (0.5, "passive", True)]
)
def test_where_other_threads_work_cpu_time_counts_if_none_waits_in_a_loop(monkeypatch, others, policy, known):
    now = {"process": 0, "thread": 0}

    def tick():
        now["thread"] += 1_000_000
        now["process"] += int(1_000_000 * (1 + others))

    use_clock(monkeypatch, lambda: now["thread"] / 1e9, lambda: now["thread"], lambda: now["process"])
    monkeypatch.setenv("OMP_WAIT_POLICY", policy)
    found, _ = of(tick)
    assert found.seconds == (1e-3 if known else None)
    assert found.steps == 2


def test_what_other_processes_or_a_timer_make_a_call_wait_for_is_part_of_its_cost():
    short, long = (of(time.sleep, seconds)[0] for seconds in (1e-4, 5e-3))
    assert short.change(long) > 2
    assert long.change(short) < 0.5


@pytest.mark.parametrize(("for_cores_ms", "waiting"), [(0, 2e-3), (2, 0.0)])
def test_a_call_waits_while_its_threads_sleep_but_not_for_a_core(monkeypatch, for_cores_ms, waiting):
    calls = []

    def cpu_ns():
        return 1_000_000 * len(calls)

    use_clock(monkeypatch, lambda: 3e-3 * len(calls), cpu_ns, cpu_ns)
    monkeypatch.setattr(cost, "_running_ns", lambda: cpu_ns() * (1 + for_cores_ms))
    found, _ = of(calls.append, 0)
    assert found.waiting == pytest.approx(waiting)


def test_calls_on_a_gpu_are_timed_by_its_clock():
    clock = SimpleNamespace(block=lambda call, _rounds, calls: call() or Block([1.0], 3e-4 * calls))
    found, _ = of(loop, 1, device_clock=clock)
    assert found.seconds == pytest.approx(3e-4)


@pytest.mark.parametrize(
    ("base", "head", "change"),
    [
        (Cost(100, 1e-3), Cost(100, 1.4e-3), None),
        (Cost(100, 1e-3), Cost(100, 2e-3), 2.0),
        (Cost(100, 10e-3), Cost(100, 1e-3), 0.1),
        (Cost(100, 1e-6), Cost(100, 1.55e-6), None),
        (Cost(100, 1e-6), Cost(100, 1e-5), 10.0),
        (Cost(1000, None), Cost(1100, None), 1.1),
        (Cost(1, None), Cost(3, None), None),
        (Cost(0, None), Cost(30, None), 16.0),
        (Cost(1, None), Cost(None, 1.0), None),
        (Cost(1, 1e-3, 1e-3), Cost(1, 1e-3, 3.1e-3), None),
        (Cost(1, 1e-3, 1e-3), Cost(1, 1e-3, 9e-3), 4.6),
        (Cost(1, 1e-3), Cost(1, 1e-3, 9e-3), 8.5),
        (Cost(1, None, 2e-5), Cost(1, None, 2e-4), None),
    ],
)
def test_costs_differ_beyond_their_limits(base, head, change):
    assert base.change(head) == (change and pytest.approx(change, rel=0.02))


def test_a_first_measurement_has_a_lower_limit():
    base, head = Cost(1000, 1e-3), Cost(1050, 1.3e-3)
    assert base.change(head, is_strict=True) == pytest.approx(1.3)
    assert base.change(head) is None
    base, head = Cost(1, 1e-3, 1e-3), Cost(1, 1e-3, 2.4e-3)
    assert base.change(head, is_strict=True) == pytest.approx(1.6, rel=0.05)
    assert base.change(head) is None


def test_the_lower_of_two_measurements_has_the_lower_of_each_number():
    one, other = Cost(3, 1e-3, 0.2), Cost(2, None, 0.1)
    assert one.lower(other) == other.lower(one) == Cost(2, 1e-3, 0.1)
    assert one.lower(Cost(None, 2e-3)) == Cost(None, 1e-3)
