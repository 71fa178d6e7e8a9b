import numpy as np
import pytest

from gnnbench.compare.trend import findings
from gnnbench.compare.trend.result import SERIES_LEVEL
from tests.compare.trend.histories import drift, history, noisier, step

RUNS, EFFECT, SEEDS = 300, 0.03, range(20)
SD = 0.01


@pytest.fixture
def examine(calibrated):
    def found(logs, level=SERIES_LEVEL):
        result = findings.examine(logs, calibrated(len(logs)), level, EFFECT)
        return [one for one in result if one.matters(EFFECT)]

    return found


def test_a_step_of_4_percent_is_found_at_its_run(examine):
    found = [examine(history([1, seed], RUNS, sd=SD, level=step(RUNS, 200))) for seed in SEEDS]
    good = [one for one, *others in found if not others and one.kind == "step" and abs(one.at - 200) <= 2]
    assert len(good) >= 19
    assert sum(one.first <= 200 <= one.last for one in good) >= 18
    assert sum(one.low <= 1.04 <= one.high for one in good) >= 17
    assert all(one.slower and one.after > one.before for one in good)


def test_a_drift_of_6_percent_over_100_runs_is_one_drift(examine):
    found = [examine(history([2, seed], RUNS, sd=SD, level=drift(RUNS, 120))) for seed in SEEDS]
    good = [one for one, *others in found if not others and one.kind == "drift"]
    assert len(good) >= 19
    assert sum(abs(one.ratio - 1.06) < 0.015 for one in good) >= 18
    assert sum(abs((one.first + one.at) / 2 - 170) <= 10 for one in good) >= 18
    assert all(one.at - one.first >= 30 for one in good)


def test_a_change_of_spread_is_found_at_its_run(examine):
    found = [examine(history([3, seed], RUNS, sd=SD, spread=noisier(RUNS, 200, 5))) for seed in SEEDS]
    good = [one for result in found for one in result if one.kind == "spread"]
    assert len(good) == len(SEEDS)
    assert sum(abs(one.at - 200) <= 2 for one in good) >= 17
    assert sum(one.first <= 200 <= one.last for one in good) >= 18
    assert sum(one.low <= 5 <= one.high for one in good) >= 16
    assert sum(len(result) > 1 for result in found) <= 2
    assert not any(one.slower for one in good)


def test_100_histories_without_change_raise_at_most_one_alarm(calibrated):
    found = [
        findings.examine(history([4, seed], RUNS), calibrated(RUNS), SERIES_LEVEL, EFFECT)
        for seed in range(100)
    ]
    assert sum(map(bool, found)) <= 1


@pytest.mark.parametrize("odd", [0.1, 0.35])
def test_a_second_time_that_whole_runs_have_is_no_change(calibrated, odd):
    found = [
        findings.examine(history([5, seed], RUNS, odd=odd), calibrated(RUNS), SERIES_LEVEL, EFFECT)
        for seed in range(30)
    ]
    assert sum(map(bool, found)) <= 1


def test_changes_of_every_kind_in_one_history(examine):
    level = step(RUNS, 60, 0.10) - step(RUNS, 120, 0.10) + step(RUNS, 200, 0.15)
    planted = [("spread", False, 200), ("step", False, 120), ("step", True, 60), ("step", True, 200)]
    good = 0
    for seed in SEEDS:
        found = examine(history([6, seed], RUNS, sd=SD, level=level, spread=noisier(RUNS, 200, 4)))
        found.sort(key=lambda one: (one.kind, one.slower, one.at))
        good += [one[:2] for one in planted] == [(one.kind, one.slower) for one in found] and all(
            abs(one.at - at) <= 10 for one, (_, _, at) in zip(found, planted, strict=True)
        )
    assert good >= 18


def test_small_steps_add_up_to_a_drift(examine):
    level = sum(step(RUNS, at, 0.02) for at in (75, 150, 225))
    (one,) = examine(history(6, RUNS, sd=0.003, level=level))
    assert one.kind == "drift"
    assert 1.05 < one.ratio < 1.07
    assert one.first == pytest.approx(74, abs=2)
    assert one.at == pytest.approx(225, abs=2)


def test_what_is_smaller_than_the_effect_is_found_and_does_not_matter(calibrated):
    logs = history(7, RUNS, sd=0.003, level=step(RUNS, 150, 0.015))
    (one,) = findings.examine(logs, calibrated(RUNS), SERIES_LEVEL, EFFECT)
    assert not one.matters(EFFECT)
    assert one.matters(0.01)


def test_equal_times_have_no_change_and_an_exact_step_one(examine):
    assert examine(np.full(RUNS, 14.0)) == []
    (one,) = examine(14 + step(RUNS, 77, 0.05))
    assert (one.first, one.at, one.last) == (77, 77, 77)
    assert one.ratio == pytest.approx(1.05)
    assert one.before == pytest.approx(np.exp(14))


def test_a_few_odd_runs_are_no_change(examine):
    logs = history(8, RUNS, odd=0)
    logs[[100, 101, 102, 103]] += 0.3
    logs[-2:] += 0.3
    assert examine(logs) == []
