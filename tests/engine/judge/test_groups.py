import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.judge.groups import SideTimings, judge
from gnnbench.engine.judge.verdict import Judgement, Thresholds, require_confirmation
from tests.engine.judge import mirrored

THRESHOLDS = Thresholds(effect=0.03)


def side(random, processes, benchmarks=20, deviation=0.01, error=0.005):
    return of(random.normal(0, deviation, (processes, benchmarks)), error)


def shifted(one, column, factor):
    logs = one.logs.copy()
    logs[:, column] += math.log(factor)
    return SideTimings(logs, one.errors)


def of(logs, error=0.005):
    return SideTimings(logs, np.full(logs.shape, error))


def test_what_is_slower_is_slower_and_the_rest_is_not():
    random = np.random.default_rng(1)
    base, head = side(random, 5), side(random, 3)
    found = judge(base, shifted(head, 4, 1.1), THRESHOLDS)
    assert found[4].verdict == "slower"
    assert found[4].low > 1.03
    assert "99%" in found[4].reason
    assert {one.verdict for number, one in enumerate(found) if number != 4} <= {"same", "undecided"}
    assert judge(base, shifted(head, 4, 1 / 1.1), THRESHOLDS)[4].verdict == "faster"


def test_a_sure_difference_below_the_effect_is_no_alarm():
    random = np.random.default_rng(2)
    quiet = {"deviation": 0.001, "error": 0.0005}
    base, head = side(random, 5, **quiet), side(random, 5, **quiet)
    found = judge(base, shifted(head, 4, 1.025), THRESHOLDS)[4]
    assert found.verdict == "same"
    found = judge(base, shifted(head, 4, 1.0299), THRESHOLDS)[4]
    assert (found.verdict, found.reason) == ("undecided", "a significant change, but smaller than 3.0%")


def test_the_interval_for_all_widens_with_their_number():
    random = np.random.default_rng(3)
    base, head = side(random, 5), side(random, 1)
    few, many = (judge(base, head, THRESHOLDS, family=family)[0] for family in (1, 1000))
    assert many.high > few.high
    assert many.own_high == few.own_high
    assert few.shrunk, "it borrows from the others"
    two = judge(side(random, 9, benchmarks=2), side(random, 9, benchmarks=2), THRESHOLDS)
    assert not two[0].shrunk


def test_noise_within_a_process_counts_where_it_is_larger_than_the_base_s():
    random = np.random.default_rng(4)
    base, head = side(random, 5), side(random, 1)
    noisy = of(head.logs, 0.1)
    quiet, loud = (judge(base, one, THRESHOLDS)[0] for one in (head, noisy))
    assert loud.high - loud.low > 4 * (quiet.high - quiet.low)


def test_processes_that_agree_by_luck_or_altogether_are_not_taken_for_sure():
    zeros = of(np.zeros((5, 6)), np.nan)
    assert {one.verdict for one in judge(zeros, zeros, THRESHOLDS)} <= {"same", "undecided"}
    one = np.zeros((5, 6))
    one[0, 0] = 0.01
    nearly = SideTimings(one, zeros.errors)
    assert judge(nearly, zeros, THRESHOLDS)[1].verdict in ("same", "undecided")
    base = of(np.zeros((5, 1)) + np.arange(5)[:, None] * 1e-9, 0.02)
    head = of(np.full((1, 1), 0.05), 0.02)
    assert judge(base, head, THRESHOLDS)[0].verdict == "undecided"


def test_what_cannot_be_judged_says_why():
    nan = np.nan
    base = of(np.array([[0.0, nan, 0.0], [0.01, nan, 0.01]]), 0.01)
    head = of(np.array([[0.0, 0.0, nan]]), 0.01)
    found = judge(base, head, THRESHOLDS)
    assert [one.verdict for one in found[1:]] == ["incomparable"] * 2
    assert [one.reason for one in found[1:]] == ["not in the baseline", "not measured"]
    one = of(np.zeros((1, 1)), 0.01)
    assert "one process on each side" in judge(one, one, THRESHOLDS)[0].reason
    blind = of(np.zeros((1, 3)), nan)
    assert judge(base, blind, THRESHOLDS)[0].reason == "too few measurements for an interval"


@given(
    st.integers(0, 2**32),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(1, 30),
    st.floats(0, 0.3),
    st.sampled_from([0, 0.2]),
)
def test_swapping_the_sides_mirrors_every_verdict(seed, one, other, benchmarks, missing, drift):
    random = np.random.default_rng(seed)
    sides = [side(random, count, benchmarks, deviation=random.uniform(0.001, 0.1)) for count in (one, other)]
    for part in sides:
        part.logs[random.random(part.logs.shape) < missing] = np.nan
    sides[1].logs[:, 0] += 0.2
    for part in sides:
        part.logs[:] += drift * np.sin(np.arange(benchmarks) / 9 + random.uniform(0, 6, (len(part.logs), 1)))
    there, back = judge(*sides, THRESHOLDS), judge(*reversed(sides), THRESHOLDS)
    for forward, backward in zip(there, back, strict=True):
        mirrored.check(forward, backward)


def test_benchmarks_of_one_round_are_judged_by_several_processes():
    random = np.random.default_rng(12)
    logs = random.normal(0, 0.01, (8, 12))
    logs[5:, 3] += math.log(2)
    base = of(logs[:5], np.nan)
    one = judge(base, of(logs[5:6], np.nan), THRESHOLDS)
    assert one[3].verdict == "incomparable"
    assert [number for number, found in enumerate(one) if found.looks_slower(THRESHOLDS)] == [3]
    several = judge(base, of(logs[5:], np.nan), THRESHOLDS)
    assert several[3].verdict == "slower"


@pytest.mark.parametrize(
    ("processes", "fresh", "verdict"),
    [(2, 3, "undecided"), (3, 3, "slower"), (1, 1, "undecided"), (2, 1, "slower"), (1, 0, "slower")],
)
def test_what_was_to_be_confirmed_needs_undisturbed_processes(processes, fresh, verdict):
    assert require_confirmation(Judgement("slower", "", head_processes=processes), fresh).verdict == verdict
    assert require_confirmation(Judgement("faster", "", head_processes=processes), fresh).verdict == "faster"


def test_a_single_odd_process_makes_no_verdict():
    random = np.random.default_rng(21)
    logs = random.normal(0, 0.005, (9, 20))
    odd = logs.copy()
    odd[1, 7] += 0.35  # somewhere in the base, a neighbour came
    head = odd[5:6].copy()
    head[0, 3] += 0.3
    several = logs[5:].copy()
    several[0, 3] += 0.35

    def judged(base, head):
        return judge(of(base, 0.002), of(head, 0.002), THRESHOLDS)[3]

    found = judged(odd[:5], head)
    reason = "one outlier process could cause a difference this large"
    assert (found.verdict, found.reason) == ("undecided", reason)
    assert judged(logs[:5], head).verdict == "slower"
    assert judged(logs[:5], several).verdict == "undecided"


@pytest.mark.parametrize("runs", [60, pytest.param(300, marks=pytest.mark.nightly)])
def test_what_is_called_visible_is_found_nine_times_in_ten_by_one_process_and_by_the_gate(runs):
    found, seen = np.zeros(2), np.zeros(2)
    for seed in range(runs):
        random = np.random.default_rng(seed)
        base, head = side(random, 5), side(random, 4)

        def judged(processes, *, slower=1.0, others=True, base=base, head=head, **options):
            some = shifted(SideTimings(head.logs[:processes], head.errors[:processes]), 0, slower)
            some.logs[1:, 1:] = some.logs[1:, 1:] if others else math.nan
            return judge(base, some, THRESHOLDS, **options)[0]

        alone = judged(1).minimum_detectable_effect
        gate = judged(1, confirming=3).minimum_detectable_effect
        assert gate < alone
        seen += alone, gate
        found[0] += judged(1, slower=1 + alone).verdict == "slower"
        if judged(1, slower=1 + gate).looks_slower(THRESHOLDS):
            found[1] += judged(4, slower=1 + gate, others=False).verdict == "slower"
    assert ((found / runs > 0.84) & (found / runs < (0.96, 0.98))).all()
    assert ((seen / runs > 0.03) & (seen / runs < 0.1)).all()
