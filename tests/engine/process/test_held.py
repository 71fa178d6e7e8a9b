import gc
import os

import pytest
import torch

from gnnbench.engine.ground.cpu import cores
from gnnbench.engine.measure.benchmark_fixture import Pedantic, whole_call_reason
from gnnbench.engine.measure.clock import Block, Call, Clock, ClockError
from gnnbench.engine.measure.layouts import Layouts
from gnnbench.engine.process.held import AllTimedCalls, HeldCall, PedanticCall


class CallClock(Clock):
    """Takes so long a call, by its own account."""

    name = "test"
    resolution_seconds = 1e-9

    def __init__(self, call_seconds=1e-4):
        self.call_seconds, self.blocks, self.renewals, self._now = call_seconds, [], 0, 0.0

    def now(self):
        return self._now

    def block(self, call, rounds, iterations):
        self.blocks.append((call, rounds, iterations, gc.isenabled()))
        call()
        seconds = [self.call_seconds * iterations] * rounds
        self._now += sum(seconds)
        return Block(seconds)

    def inputs_moved(self):
        self.renewals += 1


class Fixture:
    _min_time = 0.0

    def __init__(self, *, disable_gc=False):
        self._disable_gc = disable_gc
        self.stats, self.rounds, self.iterations = None, [], None

    def _make_stats(self, iterations):
        self.iterations, self.stats = iterations, self

    def update(self, seconds):
        self.rounds.append(seconds)


def serve(held, *commands):
    answers, left = [], list(commands)

    def ask(answer):
        answers.append(answer)
        return left.pop(0) if left else {"command": "next"}

    held.serve(ask)
    return held._fixture, answers


def plain(call, clock, *, in_place=False, disable_gc=False):
    return HeldCall(Fixture(disable_gc=disable_gc), Layouts(call), clock, in_place=in_place)


def whole(call, clock, reason, *, disable_gc=False):
    layouts, fixture = Layouts(call), Fixture(disable_gc=disable_gc)
    return AllTimedCalls(fixture, layouts, clock, Pedantic.of(call), reason=whole_call_reason(reason))


CALIBRATE = {"command": "calibrate"}


def block(rounds=3, iterations=2, core=None):
    return {"command": "block", "rounds": rounds, "iterations": iterations, "core": core}


NOTHING = Call(lambda: None, (), {})


@pytest.mark.parametrize(("call_seconds", "iterations"), [(1e-4, 5), (1e-6, 500), (1.0, 1)])
def test_a_round_is_long_enough(call_seconds, iterations):
    clock = CallClock(call_seconds)
    _, (_, answer) = serve(plain(NOTHING, clock), CALIBRATE)
    assert answer["iterations"] == pytest.approx(iterations, rel=0.3)
    assert answer["round_seconds"] == pytest.approx(call_seconds * answer["iterations"])


@pytest.mark.parametrize("disable_gc", [True, False])
def test_blocks(disable_gc):
    clock = CallClock()
    fixture, (ready, *answers) = serve(plain(NOTHING, clock, disable_gc=disable_gc), block(), block())
    assert ready == {"answer": "ready", "once": False, "inspects": True}
    assert [(answer["ns"], answer["rounds"]) for answer in answers] == [(pytest.approx(1e5), 3)] * 2
    # One that is not timed before each.
    assert [one[1:] for one in clock.blocks] == [(1, 2, not disable_gc), (3, 2, not disable_gc)] * 2
    assert gc.isenabled()
    assert fixture.iterations == 2
    assert fixture.rounds == pytest.approx([2e-4] * 6)
    fixture, _ = serve(plain(NOTHING, clock))
    assert len(fixture.rounds) == 1, "there are statistics without a block, too"


@pytest.mark.skipif(len(cores()) < 2, reason="needs two cores")
def test_blocks_run_on_the_core_that_is_told():
    seen = []
    clock = CallClock()
    call = Call(lambda: seen.append(os.sched_getaffinity(0)), (), {})
    first, last = cores()[0], cores()[-1]
    _, answers = serve(plain(call, clock), CALIBRATE, block(core=first), block(core=last), block())
    assert answers[1]["cores"] == cores()
    # An untimed call and the timed ones, which this clock makes as one.
    assert seen[-6:] == [{first}] * 2 + [{last}] * 2 + [set(cores())] * 2


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf")])
def test_a_clock_that_sees_nothing(seconds):
    clock = CallClock(seconds)
    with pytest.raises(ClockError, match="the resolution of test"):
        serve(plain(NOTHING, clock), block())


def test_whole_calls_are_neither_repeated_nor_preceded_nor_traced():
    clock, calls = CallClock(0.2), []
    call = Call(lambda x: calls.append(x) or len(calls), (1,), {})
    held = whole(call, clock, "the call starts a process", disable_gc=True)
    _, answers = serve(held, {"command": "inspect"}, CALIBRATE, block())
    unseen = "each call is timed as a whole (the call starts a process)"
    assert answers[1].items() >= {"unseen": unseen, "fingerprint": None, "counts": {}}.items()
    assert answers[2]["iterations"] == 1
    assert [made[1:3] for made in clock.blocks] == [(1, 1)] * (1 + block()["rounds"])
    assert clock.renewals == 0
    assert held.result() == len(calls) == 4, "that of the last"
    alone = whole(call, clock, "why")
    assert alone.result() == len(calls) == 5, "no command made a call"


def repeated(asked, clock, kind=PedanticCall):
    return kind(Fixture(), Layouts(Call(asked.target, asked.args, asked.kwargs)), clock, asked)


def test_rounds_of_an_author():
    calls, clock = [], CallClock()
    asked = Pedantic(
        lambda x: calls.append(f"call {x}") or "result",
        (),
        {},
        setup=lambda: calls.append("set-up") or ((1,), {}),
        teardown=lambda x: calls.append(f"tear-down {x}"),
        rounds=2,
        warmup_rounds=1,
    )
    timed = repeated(asked, clock)
    one = ["set-up", "call 1", "tear-down 1"]
    assert calls == one
    _, (_, calibrated, answer) = serve(timed, CALIBRATE, block())
    assert calibrated["iterations"] == 1
    assert answer["rounds"] == 3
    assert calls[-4 * 3 :] == one * 4
    count = len(calls)
    assert timed.result() == "result"
    assert calls[count:] == one


def test_arguments_of_rounds_are_renewed_and_iterations_are_an_author_s():
    clock, places = CallClock(), []
    asked = Pedantic(lambda x: places.append(x.data_ptr()), (torch.ones(1000),), {}, rounds=2, iterations=7)
    fixture, (_, answer, *_) = serve(repeated(asked, clock), block(3, 1), *[block()] * 4)
    assert len(set(places)) > 2
    assert answer["ns"] == pytest.approx(1e5)
    assert fixture.iterations == 7


def test_a_single_round_is_its_authors_calls_and_no_others():
    calls, clock = [], CallClock()
    set_up, call = (lambda: calls.append("set-up")), (lambda: calls.append("call") or len(calls))
    asked = Pedantic(call, (), {}, setup=set_up, warmup_rounds=1)
    timed = repeated(asked, clock, AllTimedCalls)
    fixture, (ready, answer) = serve(timed, block(1, 1))
    assert (ready["once"], answer["rounds"], len(fixture.rounds)) == (True, 1, 1)
    assert calls == ["set-up", "call"] * 2, "warm-up, and the round"
    assert timed.result() == 4
    calls.clear()
    unasked = repeated(asked, clock, AllTimedCalls)
    fixture, _ = serve(unasked)
    assert (unasked.result(), len(fixture.rounds)) == (4, 1)
    assert calls == ["set-up", "call"] * 2
