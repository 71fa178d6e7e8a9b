import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gnnbench.engine.ground.settings import parse
from gnnbench.engine.judge.allowed import Allowed
from gnnbench.engine.judge.schedule import PILOT_SECONDS, PairPlan, Schedule
from gnnbench.engine.judge.selection import NOT_REACHED, SHORTEST_VISIT
from gnnbench.engine.judge.verdict import Thresholds
from gnnbench.engine.judge.visit import NotTimed, PairTimes, Visit

THRESHOLDS = Thresholds(effect=0.03)
NAMES = [f"b{number}" for number in range(8)]


class Bench:
    """Fake pairs: block noise, a pair's own offset, and what a visit costs besides."""

    def __init__(self, seed=0, ratios=None, noise=0.05, sd=0.01, start=3.0, extra=0.0, block=0.02):
        self.random = np.random.default_rng(seed)
        self.ratios, self.noise, self.sd = ratios or {}, noise, sd
        self.start, self.extra, self.block = start, extra, block

    def visit(self, name, seconds):
        blocks = max(1, round(seconds / self.block))
        ratio = self.ratios.get(name, 1.0) * math.exp(self.random.normal(0, self.sd))
        times = 1e6 * np.exp(self.random.normal(0, self.noise, (2, blocks)))
        return Visit(tuple(times[0]), tuple(ratio * times[1]), blocks, blocks * self.block + self.extra)

    def pair(self, plan):
        visits = {name: self.visit(name, seconds) for name, seconds in plan.seconds.items()}
        return PairTimes(self.start, visits)


def schedule(names=NAMES, seed=0, **options):
    return Schedule(names, THRESHOLDS, random=np.random.default_rng(seed), **options)


def run(one, bench):
    plans = []
    while plan := one.next():
        plans.append(plan)
        one.add(bench.pair(plan))
    return plans


def test_what_is_left_out_has_no_part_of_time_and_error():
    one, alone = schedule(), schedule(NAMES[:1])
    for name in NAMES[1:]:
        one.leave_out(name)
    assert one.left_seconds == alone.left_seconds == 60
    assert run(one, Bench(sd=0.001)) == run(alone, Bench(sd=0.001))
    assert one.decisions()["b0"].counts.decided
    assert one.decisions()["b0"].judgement.low == pytest.approx(alone.decisions()["b0"].judgement.low)


def test_a_run_ends_if_the_last_benchmark_turns_out_in_a_pair_to_need_no_timing():
    one = schedule(NAMES[:1], total_seconds=60)
    one.spend(31.0)
    assert one.next()
    one.leave_out(NAMES[0])
    one.add(PairTimes(20.0, {}, {}))
    assert one.next() is None
    assert one.decisions() == {}
    assert one.needed_seconds == 0


def test_it_stops_when_all_is_decided_and_what_is_decided_is_not_visited_again():
    one = schedule()
    plans = run(one, Bench(ratios={"b3": 1.2}, noise=0.1))
    decisions = one.decisions()
    assert all(found.counts.decided for found in decisions.values())
    assert decisions["b3"].judgement.verdict == "slower"
    assert one.left_seconds > 0
    sizes = [len(plan.seconds) for plan in plans]
    assert sizes[0] == 8
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 8
    for name, found in decisions.items():
        assert found.counts.pairs == sum(name in plan.seconds for plan in plans)
        assert found.counts.layouts == found.counts.rounds > found.counts.pairs
        assert found.counts.seconds > 0


def test_a_rule_sets_the_effect_of_single_benchmarks_and_so_when_each_is_decided():
    rules = [{"benchmarks": name, "effect": "10%"} for name in ("b3", "b6")]
    thresholds = Thresholds(0.03, rules=parse(Path("gnnbench.toml"), {"rules": rules}))
    one = Schedule(NAMES, thresholds, random=np.random.default_rng(0))
    run(one, Bench(ratios={"b2": 1.1, "b3": 1.05}, sd=0.025))
    decisions = one.decisions()
    assert decisions["b2"].judgement.verdict == "slower"
    assert decisions["b3"].judgement.verdict == "same"
    assert decisions["b3"].judgement.reason == "the per-benchmark 95% interval lies within 10% of 1"
    others = [decisions[name].counts.pairs for name in ("b4", "b5", "b7")]
    assert decisions["b6"].counts.pairs < np.mean(others)


def test_the_first_pair_is_a_short_pilot_of_everything_and_the_others_are_in_random_order():
    orders = set()
    for seed in range(5):
        one = schedule(seed=seed)
        pilot = one.next()
        assert pilot.seconds == dict.fromkeys(NAMES, PILOT_SECONDS)
        assert list(pilot.seconds) == NAMES
        one.add(Bench().pair(pilot))
        orders.add(tuple(one.next().seconds))
    assert {frozenset(order) for order in orders} == {frozenset(NAMES)}
    assert len(orders) > 1


def pairs_of(plans):
    """Return by benchmark the number of pairs that measured it."""
    return Counter(name for plan in plans for name in plan.seconds)


def test_what_is_likely_slower_is_measured_alone_until_it_is_decided_or_has_six_pairs():
    one = schedule(likely=["b2", "b5"])
    plans = run(one, Bench(ratios={"b2": 1.3}, noise=0.02, sd=0.003))
    found = one.decisions()
    assert found["b2"].judgement.verdict == "slower"
    assert list(plans[0].seconds) == ["b2", "b5", *(name for name in NAMES if name not in ("b2", "b5"))]
    assert [sorted(plan.seconds) for plan in plans[1:4]] == [["b2", "b5"]] * 3
    assert found["b2"].counts.pairs == found["b5"].counts.pairs == 4
    assert len(plans[4].seconds) == 6
    assert {one.judgement.verdict for name, one in found.items() if name != "b2"} == {"same"}
    # What stays close to no change does not hold up the others.
    plans = run(schedule(likely=["b2"], total_seconds=300.0), Bench(ratios={"b2": 1.02}, sd=0.02))
    assert [len(plan.seconds) for plan in plans[:7]] == [8, *[1] * 5, 8]


class Limited(Bench):
    """Leaves out what a pair has no time for, as the coordinator does."""

    def __init__(self, **options):
        super().__init__(**options)
        self.plans = []
        """What was measured in each pair."""

    def pair(self, plan):
        left, seconds = plan.at_most_seconds, {}
        for name, one in plan.seconds.items():
            seconds[name] = one
            left -= one + self.extra
            if left < 0:
                break
        self.plans.append(PairPlan(seconds))
        return super().pair(PairPlan(seconds))


NINE = [f"b{number}" for number in range(9)]


@pytest.mark.parametrize("extra", [0.0, 0.3])
@pytest.mark.parametrize("start", [1.0, 5.0, 15.0, 30.0])
@pytest.mark.parametrize("budget", [60.0, 150.0, 330.0, 600.0])
def test_of_nine_of_which_one_is_likely_slower_all_have_four_pairs_if_time_allows(budget, start, extra):
    """None is ever decided."""
    bench = Limited(ratios=dict.fromkeys(NINE, 1.02), sd=0.1, start=start, extra=extra)
    one = schedule(NINE, likely=["b4"], total_seconds=budget)
    counts, alone = Counter(), 0.0
    while (plan := one.next()) and min(counts[name] for name in NINE) < 6:
        one.add(bench.pair(plan))
        counts = pairs_of(bench.plans)
        if list(bench.plans[-1].seconds) == ["b4"]:
            alone += start + extra + bench.plans[-1].seconds["b4"]
    shortest = start + 9 * (extra + SHORTEST_VISIT)
    possible = int((budget - start - 9 * (extra + PILOT_SECONDS)) / shortest) + 1
    least = min(counts[name] for name in NINE)
    assert least >= 1
    assert least >= min(possible, 4) or possible == 3, "others than the first have no verdict then"
    assert alone <= budget / 2


def test_what_a_pair_costs_and_what_the_budget_will_decide_is_said_after_the_first_pair():
    def said(budget, extra=0.3, **options):
        one = schedule(NINE, total_seconds=budget, **options)
        lines = [one.forecast()]
        for _ in range(2):
            one.add(Limited(start=4.0, extra=extra).pair(one.next()))
            lines.append(one.forecast())
        before, line, after = lines
        assert before == after == ""
        return line

    takes = "a process pair takes at least 7.60 s for 9 benchmarks: the budget allows "
    assert said(300.0) == f"{takes}about 39 pairs, and a verdict needs 4"
    assert said(30.0) == f"{takes}verdicts on 6 of them; --total-budget 57 allows about 7 pairs for each"
    one = schedule(NINE, total_seconds=57.0)
    bench = Limited(start=4.0, extra=0.3, sd=0.1)
    run(one, bench)
    assert min(pairs_of(bench.plans)[name] for name in NINE) >= 4


def test_a_budget_that_is_too_small_for_all_decides_the_first_when_each_has_a_pair():
    one = schedule(total_seconds=120.0)
    run(one, Limited(ratios={"b0": 1.2}, extra=5.0, sd=0.003, noise=0.02))
    found = {name: one.decisions()[name] for name in NAMES}
    verdicts = [found[name].judgement.verdict for name in NAMES]
    assert verdicts[:2] == ["slower", "same"]
    assert verdicts[-1] == "undecided"
    assert found["b7"].judgement.reason.startswith("1 process pair, but a verdict needs 4; --total-budget ")
    assert one.spent_seconds <= 135
    # When the first are decided, the others follow.
    one = schedule(total_seconds=600.0)
    run(one, Limited(extra=12.0, sd=0.003, noise=0.02))
    assert {found.judgement.verdict for found in one.decisions().values()} == {"same"}
    # Not even a pair of each fits.
    one = schedule(total_seconds=120.0)
    run(one, Limited(ratios={"b0": 1.2}, extra=16.0, sd=0.003, noise=0.02))
    found = one.decisions()
    assert found["b0"].judgement.verdict == "slower"
    assert found["b7"].judgement.reason.startswith(NOT_REACHED)
    assert found["b7"].counts.pairs == 0


class Turns(Bench):
    """Visits have at least five turns, unless these last too long."""

    def pair(self, plan):
        self.longest = plan.longest_seconds
        return super().pair(plan)

    def visit(self, name, seconds):
        turns = min(5, (self.longest - self.extra) // self.block)
        return super().visit(name, max(seconds, turns * self.block))


@pytest.mark.parametrize("sd", [0.02, 0.3])
@pytest.mark.parametrize("ratio", [1e-4, 1e-3, 0.01, 0.1, 10.0, 100.0, 1e3, 1e4])
def test_a_ratio_that_is_far_away_is_decided_with_the_fourth_pair(ratio, sd):
    """A turn takes four calls of the head, of a millisecond in the base."""
    one = schedule(NAMES[:1], per_benchmark_seconds=15 + 7 * 4e-3 * ratio)
    run(one, Turns(ratios={"b0": ratio}, sd=sd, start=1.0, extra=0.1, block=4e-3 * max(ratio, 1.0)))
    found = one.decisions()["b0"]
    assert (found.judgement.verdict, found.counts.pairs) == ("faster" if ratio < 1 else "slower", 4)


def test_no_more_is_spent_than_the_purse():
    for options in ({"per_benchmark_seconds": 4.0}, {"total_seconds": 30.0}):
        one = schedule(**options)
        run(one, Bench(noise=0.5))
        assert one.spent_seconds <= 32.5  # blocks are not divided
        assert one.spent_seconds + one.left_seconds >= 30
        assert not all(found.counts.decided for found in one.decisions().values())


@pytest.mark.parametrize(
    ("options", "words"),
    [({"per_benchmark_seconds": 2.0}, r"--budget \d+"), ({"total_seconds": 20.0}, r"--total-budget \d+")],
)
@pytest.mark.parametrize(("start", "extra"), [(3.0, 0.0), (1.0, 1.0), (0.2, 0.3)])
def test_too_few_pairs_are_undecided_and_it_says_what_would_be_enough(options, words, start, extra):
    bench = {"start": start, "extra": extra, "noise": 0.02, "sd": 0.002}
    one = schedule(**options)
    while (plan := one.next()) and max(found.counts.pairs for found in one.decisions().values()) < 3:
        one.add(Bench(**bench).pair(plan))
    found = one.decisions()["b0"].judgement
    assert (found.verdict, found.judged) == ("undecided", False)
    assert found.ratio == pytest.approx(1, abs=0.05)
    line = rf"(\d) process pairs?, but a verdict needs 4; {words} allows about 7, enough to decide .*"
    said = re.fullmatch(line, found.reason)
    assert int(said[1]) == found.head_processes
    seconds = float(re.search(r"budget (\d+)", found.reason)[1])
    enough = schedule(**dict.fromkeys(options, seconds))
    run(enough, Bench(**bench))
    assert all(found.judgement.judged for found in enough.decisions().values())


def test_slow_rounds_that_medians_hide_are_undecided_before_the_budget_ends():
    block = {"ns": 1.0, "rounds": 5, "cpu_ns": None, "gpu_ns": None}
    slow = Visit.of(*[[{**block, "mean_ns": mean}] * 9 for mean in (1.0, 2.0)])
    one, bench = schedule(), Bench()
    while plan := one.next():
        pair = bench.pair(plan)
        one.add(replace(pair, visits={**pair.visits, **({"b2": slow} if "b2" in plan.seconds else {})}))
    found = one.decisions()["b2"]
    assert (found.judgement.verdict, found.counts.decided) == ("undecided", True)
    assert found.judgement.ratio == pytest.approx(2)


def test_what_fails_twice_is_given_up_with_its_text_and_the_rest_goes_on():
    one, bench, plans = schedule(), Bench(), []
    while plan := one.next():
        plans.append(plan)
        times = bench.pair(plan)
        failed = times.visits.pop("b2", None)
        one.add(replace(times, failures={"b2": NotTimed("failed", "head: why")} if failed else {}))
    found = one.decisions()
    assert (found["b2"].judgement.verdict, found["b2"].judgement.reason) == ("incomparable", "head: why")
    assert sum("b2" in plan.seconds for plan in plans) == 2
    assert found["b1"].counts.decided


def test_a_pair_that_gave_nothing_costs_its_start():
    one = schedule(total_seconds=5.0)
    one.next()
    one.add(PairTimes(3.0))
    assert one.spent_seconds == 3.0
    one.next()
    one.add(PairTimes(3.0))
    assert one.next() is None


def test_what_is_accepted_is_measured_until_it_is_known_whether_it_is_more():
    def found(ratio, allowed):
        limit = allowed and Allowed(allowed, allowed / 1.01, allowed * 1.01, ("x",))
        one = schedule(allowed={"b3": limit} if limit else {})
        run(one, Bench(ratios={"b3": ratio}, sd=0.04))
        return one.decisions()["b3"]

    early, accepted, more = found(1.3, None), found(1.3, 1.3), found(1.3, 1.2)
    assert {one.judgement.verdict for one in (early, accepted, more)} == {"slower"}
    assert all(one.counts.decided for one in (early, accepted, more))
    assert accepted.counts.pairs > early.counts.pairs
    assert accepted.judgement.own_high < 1.3 * 1.03
    assert more.judgement.ratio / 1.2 > more.judgement.high / more.judgement.ratio
    assert found(1.0, 1.3).judgement.verdict == "same"
