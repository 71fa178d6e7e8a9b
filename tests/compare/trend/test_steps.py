import math

import numpy as np
import pytest

from gnnbench.compare.memory import Peaks
from gnnbench.compare.trend import steps
from gnnbench.compare.trend.history import Series
from gnnbench.compare.trend.result import SERIES_LEVEL
from tests.compare.trend.histories import history, noisier, step

RUNS, EFFECT, SEEDS = 300, 0.03, range(20)
SD = 0.01
KIB, MIB = 2**10, 2**20


def find(logs):
    return steps.of_time(Series("b", np.arange(len(logs)), logs), SERIES_LEVEL)


def test_a_step_of_4_percent_is_found_at_its_run():
    found = [find(history([1, seed], RUNS, sd=SD, level=step(RUNS, 200))) for seed in SEEDS]
    good = [one for one, *others in found if not others and abs(one.at - 200) <= 2]
    assert len(good) >= 19
    assert sum(one.first <= 200 <= one.last for one in good) >= 18
    assert sum(one.low <= 1.04 <= one.high for one in good) >= 17
    assert all(one.slower and one.previous == one.first - 1 for one in good)


@pytest.mark.parametrize(("odd", "histories"), [(0.02, 100), (0.1, 30), (0.35, 30)])
def test_histories_without_a_step_raise_at_most_one_alarm(odd, histories):
    assert sum(bool(find(history([4, seed], RUNS, odd=odd))) for seed in range(histories)) <= 1


def test_noise_that_grows_is_no_step_and_hides_none():
    grown = noisier(RUNS, 200, 6)
    assert sum(bool(find(history([5, seed], RUNS, sd=SD, spread=grown))) for seed in range(60)) <= 2
    level = step(RUNS, 60, 0.10) - step(RUNS, 120, 0.10) + step(RUNS, 200, 0.15)
    good = 0
    for seed in SEEDS:
        found = find(history([6, seed], RUNS, sd=SD, level=level, spread=noisier(RUNS, 200)))
        good += [one.slower for one in found] == [True, False, True] and all(
            abs(one.at - at) <= 10 for one, at in zip(found, (60, 120, 200), strict=True)
        )
    assert good >= 18


def test_what_is_smaller_than_the_effect_is_found_and_does_not_matter():
    (one,) = find(history(7, RUNS, sd=0.003, level=step(RUNS, 150, 0.015)))
    assert not one.matters(EFFECT)
    assert one.matters(0.01)


def test_equal_times_have_no_step_and_an_exact_one_is_at_its_run():
    assert find(np.full(RUNS, 14.0)) == []
    (one,) = steps.of_time(Series("b", np.arange(0, 600, 2), 14 + step(RUNS, 77, 0.05)), SERIES_LEVEL)
    assert (one.previous, one.first, one.at, one.last) == (152, 154, 154, 154), "runs of the history"
    assert one.ratio == pytest.approx(1.05)
    assert one.before_ns == pytest.approx(np.exp(14))


def test_a_few_odd_runs_are_no_step():
    logs = history(8, RUNS, odd=0)
    logs[[100, 101, 102, 103]] += 0.3
    logs[-2:] += 0.3
    assert find(logs) == []


def test_a_range_holds_its_step_about_as_often_as_it_says():
    assert steps.plausible(np.concatenate([np.zeros(10), np.full(10, 6.0)])) == (10, 10)
    held = 0
    for seed in range(300):
        values = np.random.default_rng(seed).normal(0, 1, 80) + 1.5 * (np.arange(80) >= 30)
        first, last = steps.plausible(values)
        held += first <= 30 <= last
    assert held >= 300 * 0.93


def test_ranks_tell_a_step_whatever_the_distribution_and_its_scale():
    random = np.random.default_rng(0)
    values = np.exp(5 * random.normal(0, 1, 100))
    assert steps.by_rank(values, 40) < 10
    values[40:] += 1e6
    assert steps.by_rank(values, 40) > 60
    assert steps.by_rank(values**3, 40) == steps.by_rank(values, 40)
    assert steps.by_rank(np.full(20, 3.0), 10) == 0
    assert np.isfinite(steps.by_rank(np.arange(2.0), 1))
    chance = [steps.by_rank(np.random.default_rng([1, seed]).normal(size=60), 25) for seed in range(500)]
    assert np.mean(np.array(chance) > 3.84) == pytest.approx(0.05, abs=0.015)


def test_a_step_of_memory_is_found_between_two_runs_and_small_ones_add_up():
    def found(*sizes):
        series = Series("b", np.arange(0), np.zeros(0), list(enumerate(sizes)))
        return [(one.previous, one.at, one.change.verdict) for one in steps.of_memory(series)]

    flat, up = Peaks(MIB, MIB), Peaks(2 * MIB, 2 * MIB)
    assert found() == found(flat, flat) == []
    assert found(flat, flat, up, up, flat) == [(1, 2, "more memory"), (3, 4, "less memory")]
    creeping = [Peaks(size, size) for size in range(10 * MIB, 10 * MIB + 240 * KIB, 40 * KIB)]
    assert found(*creeping) == [(2, 3, "more memory")]
    assert found(Peaks(MIB, 2 * MIB), Peaks(MIB, MIB), Peaks(2 * MIB, 2 * MIB)) == []


def test_a_length_has_the_penalty_of_the_next_longer_one():
    squares, excess, ranks, excess_of_ranks = steps.TAILS[60]
    assert steps.penalties(49, steps.TAIL) == steps.penalties(60, steps.TAIL) == (squares, ranks)
    assert steps.penalties(61, steps.TAIL) == (steps.TAILS[75][0], steps.TAILS[75][2])
    assert steps.penalties(60, steps.TAIL / math.e) == pytest.approx(
        (squares + excess, ranks + excess_of_ranks)
    )


def test_it_grows_beyond_the_longest():
    found = [steps.penalties(steps.LONGEST * times, 0.001)[0] for times in (1, 2, 4)]
    assert found[2] - found[1] == pytest.approx(found[1] - found[0]) == pytest.approx(2 * math.log(2))
