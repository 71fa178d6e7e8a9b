import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.ground import units
from gnnbench.engine.judge.estimate import RatioEstimate, judge_estimate, sample
from gnnbench.engine.judge.evidence import Evidence
from gnnbench.engine.judge.outliers import Outliers
from gnnbench.engine.judge.verdict import Thresholds
from gnnbench.engine.judge.visit import Visit
from tests.engine.judge import mirrored
from tests.sampling import sampled

THRESHOLDS = Thresholds(effect=0.03)
NAMES = [f"b{number}" for number in range(12)]


def visit(random, ratio=1.0, blocks=40, base=1e6, noise=0.05):
    times = base * np.exp(random.normal(0, noise, (2, blocks))) * np.array([[1.0], [ratio]])
    return Visit(tuple(times[0]), tuple(times[1]), 10 * blocks, 0.8)


def swapped(one):
    return replace(one, base_ns=one.head_ns, head_ns=one.base_ns)


def scaled(one, base=1.0, head=1.0):
    """Return a visit whose blocks took so many times as long."""
    sides = tuple(base * np.array(one.base_ns)), tuple(head * np.array(one.head_ns))
    return replace(one, base_ns=sides[0], head_ns=sides[1])


def pairs(random, count, ratios=None, sd=0.01, **options):
    """Return visits by pair; what a benchmark is slowed down by can be given by pair."""
    by_name = {name: np.broadcast_to((ratios or {}).get(name, 1.0), count) for name in NAMES}
    return [
        {
            name: visit(random, found[number] * math.exp(random.normal(0, sd)), **options)
            for name, found in by_name.items()
        }
        for number in range(count)
    ]


def estimates(visits):
    evidence = Evidence(NAMES)
    for one in visits:
        evidence.add(one)
    return evidence.estimates()


def verdicts(visits, **options):
    found = estimates(visits)
    return {name: judge_estimate(one, THRESHOLDS, len(NAMES), **options) for name, one in found.items()}


def test_what_is_slower_is_slower_and_the_rest_is_not():
    found = verdicts(pairs(np.random.default_rng(3), 10, {"b3": 1.08, "b4": 1 / 1.08}))
    assert (found["b3"].verdict, found["b4"].verdict) == ("slower", "faster")
    assert found["b3"].reason == "the simultaneous 99% interval excludes 1"
    rest = [one for name, one in found.items() if name not in ("b3", "b4")]
    assert {one.verdict for one in rest} <= {"same", "undecided"}
    assert sum(one.verdict == "same" for one in rest) > 5
    assert found["b3"].base_processes == found["b3"].head_processes == 10
    # Benchmarks of one round are judged by pairs alone.
    found = verdicts(pairs(np.random.default_rng(2), 12, {"b3": 1.3}, blocks=1, noise=0.01))
    assert found["b3"].verdict == "slower"
    assert {one.verdict for name, one in found.items() if name != "b3"} <= {"same", "undecided"}


@pytest.mark.parametrize("runs", [20, pytest.param(60, marks=pytest.mark.nightly)])
def test_the_standard_error_is_that_of_repeated_runs_visits_of_different_lengths_too(runs):
    random = np.random.default_rng(4)
    logs, errors = [], []
    for _ in range(runs):
        visits = pairs(random, 1, blocks=8) + pairs(random, 4, blocks=40) + pairs(random, 1, blocks=160)
        found = estimates(visits).values()
        logs += [one.log_ratio for one in found]
        errors += [one.standard_error for one in found]
    assert math.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(logs), rel=0.1)


def two_modes(random):
    times = random.normal(0, 0.02, (2, 40)) + math.log(2) * random.integers(0, 2, (2, 40))
    return np.exp(times)


def drifting(random):
    return np.exp(random.normal(0, 0.02, (2, 40)) + random.normal(0, 0.3, 40))


@pytest.mark.parametrize(("made", "as_sharp_as"), [(two_modes, "location"), (drifting, "turns")])
def test_of_two_modes_the_fast_one_tells_most_and_of_a_drift_the_turns(made, as_sharp_as):
    random = np.random.default_rng(13)
    errors = {"location": [], "turns": [], "both": []}
    for _ in range(40):
        visits = []
        for _ in range(4):
            base, head = made(random)
            visits.append({"b0": Visit(tuple(base), tuple(1.05 * head), 40, 0.8)})
        found = [sample(one["b0"]) for one in visits]
        errors["location"].append(np.mean([one.head - one.base for one in found]))
        errors["turns"].append(np.mean([one.turns for one in found]))
        errors["both"].append(estimates(visits)["b0"].log_ratio)
    squares = {way: np.mean(np.square(np.array(logs) - math.log(1.05))) for way, logs in errors.items()}
    other = {"location": "turns", "turns": "location"}[as_sharp_as]
    assert squares["both"] < 1.1 * squares[as_sharp_as] < 0.5 * squares[other], squares


@pytest.mark.parametrize("side", ["base", "head"])
def test_pairs_of_a_broken_process_are_excluded_and_counted(side):
    random = np.random.default_rng(6)
    visits = pairs(random, 9, {"b3": 1.08})
    for number in (0, 4):
        visits[number] = {name: scaled(one, **{side: 25.0}) for name, one in visits[number].items()}
    found = estimates(visits)["b3"]
    above, below = (0, 2) if side == "base" else (2, 0)
    assert (found.outliers.above, found.outliers.below) == (above, below)
    assert found.pairs == 7
    assert found.log_ratio == pytest.approx(math.log(1.08), abs=0.03)
    judgement = verdicts(visits)["b3"]
    assert judgement.verdict == "slower"
    counts = f"{above} over 3x above the median pair, {below} below"
    assert judgement.reason.endswith(f"; 2 pairs excluded: {counts}")


def of_two_modes(random, count, weights, ratio):
    """Return visits of pairs; of each side, a share of b3's processes is six times slower."""
    visits = pairs(random, count, {"b3": ratio}, noise=0.01)
    for one in visits:
        one["b3"] = scaled(one["b3"], *np.where(random.random(2) < weights, 6.0, 1.0))
    return visits


@pytest.mark.parametrize(("ratio", "verdict"), [(1.0, "same"), (1.1, "slower")])
def test_of_two_modes_the_pairs_in_the_same_one_are_compared(ratio, verdict):
    """Half of the processes are slow: half of the pairs differ in mode, twice as often either way."""
    found = verdicts(of_two_modes(np.random.default_rng(4), 30, [0.5, 0.5], ratio))["b3"]
    assert found.verdict == verdict
    assert found.base_processes < 20, "more pairs were excluded than outliers may be"
    assert found.ratio == pytest.approx(ratio, abs=0.02)
    reason = r"; \d+ pairs excluded because the sides are in different modes, over 3x apart$"
    assert re.search(reason, found.reason)


@pytest.mark.parametrize("weights", sampled([(0.2, 0.7), (0.0, 0.4), (0.2, 0.8)], 1))
def test_a_changed_weight_of_two_modes_of_processes_is_undecided(weights):
    found = [verdicts(of_two_modes(np.random.default_rng(seed), 24, weights, 1.0))["b3"] for seed in range(6)]
    assert {one.verdict for one in found} == {"undecided"}
    assert any("one side may be slower in some of its processes" in one.reason for one in found)


@pytest.mark.parametrize(
    ("count", "slow", "is_wide", "verdict"),
    [
        (6, {0: "head"}, False, "undecided"),
        (8, {0: "head", 5: "head"}, False, "undecided"),
        (11, {0: "head"}, False, "same"),
        (8, {0: "head", 5: "base"}, False, "same"),
        (8, {0: "head", 5: "head"}, True, "same"),
    ],
)
def test_a_benchmark_that_only_one_side_s_processes_slow_down_is_not_the_same(count, slow, is_wide, verdict):
    visits = pairs(np.random.default_rng(2), count, sd=0.001, noise=0.01)
    for number, side in slow.items():
        names = NAMES if is_wide else ["b3"]
        visits[number] |= {name: scaled(visits[number][name], **{side: 10.0}) for name in names}
    assert verdicts(visits)["b3"].verdict == verdict


@pytest.mark.parametrize(
    ("heads", "noise", "verdict"),
    [
        # Identical code, one process in two is slow: by chance all of the head's were, or all but one.
        *[(heads, 0.01, "undecided") for heads in ([6] * 3, [6] * 6 + [1], [6] * 6 + [1 / 6])],
        ([6] * 4, 0.01, "slower"),
        ([25] * 4 + [1] * 3, 0.05, "undecided"),
        # Modes 2x apart: the pair in which they are swapped is as far from the others as an outlier.
        ([2] * 4 + [1 / 2], 0.01, "undecided"),
        # Few pairs that do not agree make no verdict.
        ([1.4, 1.4, 1.0, 1.0], 0.005, "undecided"),
        ([1.2] * 4, 0.005, "slower"),
    ],
)
def test_few_pairs_that_differ_by_a_mode_or_do_not_agree_are_no_verdict(heads, noise, verdict):
    visits = pairs(np.random.default_rng(21), len(heads), {"b3": heads}, noise=noise, sd=min(noise, 0.01))
    assert verdicts(visits)["b3"].verdict == verdict


@pytest.mark.parametrize(("count", "verdict"), [(4, "undecided"), (5, "undecided"), (6, "slower")])
def test_a_large_change_needs_six_pairs_where_another_benchmark_has_shown_two_modes(count, verdict):
    ratios = {"b3": 6.0, "b5": [1 / 6] + [1.0] * (count - 1)}
    found = verdicts(pairs(np.random.default_rng(21), count, ratios, noise=0.01))["b3"]
    assert found.verdict == verdict
    if verdict == "undecided":
        reason = "but a ratio above 3x needs 6, as processes have two modes"
        assert found.reason == f"{count} process pairs, {reason}"
    # A process that is fast or slow in all benchmarks is no mode.
    ratios = {name: 6.0 if name == "b3" else [1 / 6] + [1.0] * (count - 1) for name in NAMES}
    assert verdicts(pairs(np.random.default_rng(21), count, ratios, noise=0.01))["b3"].verdict == "slower"


def test_three_pairs_say_how_much_slower_at_least_and_decide_nothing():
    found = verdicts(pairs(np.random.default_rng(21), 3, {"b3": 6.0, "b4": 1 / 6}, noise=0.01))
    least = units.ratio(found["b3"].low)
    assert found["b3"].verdict == found["b4"].verdict == "undecided"
    reason = "not decided: 3 process pairs, but a verdict needs 4"
    assert found["b3"].reason == f"at least {least} slower, {reason}"
    assert 3 < found["b3"].low < 6 < found["b3"].high
    assert found["b4"].reason.startswith("at least 5.")
    assert found["b5"].low is None
    near = RatioEstimate(math.log(1.04), 0.014, 30, 3, Outliers(), shrunk=False, agreeing=1.0)
    reason = judge_estimate(near, Thresholds(0.03), 1).reason
    assert reason.startswith("at least 1.001x slower"), "not 1.00x"


def test_one_side_that_was_fast_for_a_moment_of_one_visit_decides_nothing():
    random = np.random.default_rng(12)
    pilot = visit(random, 1.05, blocks=7, noise=0.01)
    pilot = scaled(pilot, [0.4, 0.4, 0.4, 1, 1, 1, 1])
    found = estimates([{"b0": pilot}, *pairs(random, 9, {"b0": 1.05}, noise=0.05)])["b0"]
    assert found.log_ratio == pytest.approx(math.log(1.05), abs=0.01)
    assert found.standard_error < 0.015


def test_times_that_are_all_equal_end_in_a_verdict_and_none_are_incomparable():
    equal = {name: Visit((5.0,) * 10, (5.0,) * 10, 10, 0.1) for name in NAMES[1:]}
    missing, *others = verdicts([equal] * 5).values()
    assert {one.verdict for one in others} <= {"same", "undecided"}
    assert (missing.verdict, missing.reason, missing.ratio) == ("incomparable", "not measured", None)


def test_narrower_tails_make_wider_intervals_and_keep_the_level_s_name():
    visits = pairs(np.random.default_rng(12), 12, {"b3": 1.2})
    plain, strict = verdicts(visits), verdicts(visits, tails=(1e-5, 0.01))
    assert strict["b3"].low < plain["b3"].low
    assert strict["b0"].own_high > plain["b0"].own_high
    assert strict["b3"].reason == plain["b3"].reason


@pytest.mark.parametrize(("share", "factor", "ratio"), [(0.3, 2.0, 1.0), (0.1, 50.0, 1.0), (0.6, 9.0, 0.8)])
def test_calls_that_become_slow_now_and_then_are_neither_slower_nor_the_same(share, factor, ratio):
    """The fast mode is as fast as it was, or faster."""
    random = np.random.default_rng(1)
    visits = pairs(random, 6, {"b3": ratio}, noise=0.03)
    for one in visits:
        one["b3"] = scaled(one["b3"], head=np.where(random.random(40) < share, factor, 1.0))
    found, back = verdicts(visits)["b3"], verdicts([{"b3": swapped(one["b3"])} for one in visits])["b3"]
    reason = "the mean time of a block changed by this ratio, unlike the fastest tenth of the calls"
    assert (found.verdict, found.reason) == (back.verdict, back.reason) == ("undecided", reason)
    assert found.ratio == pytest.approx(1 / back.ratio) == pytest.approx(ratio * factor**share, rel=0.4)
    assert found.low > 1


@given(
    st.integers(0, 2**32),
    st.integers(1, 9),
    st.floats(0, 0.3),
    st.sampled_from([1, 3, 20]),
    st.floats(0, 0.2),
)
def test_swapping_the_sides_mirrors_every_verdict(seed, count, broken, blocks, missing):
    random = np.random.default_rng(seed)
    visits = []
    for one in pairs(random, count, {"b1": 1.1, "b2": 0.8}, blocks=blocks):
        slow = np.where(random.random(2) < broken, 25.0, 1.0)
        visits.append({name: scaled(v, *slow) for name, v in one.items() if random.random() >= missing})
    mirror = [{name: swapped(v) for name, v in one.items()} for one in visits]
    there, back = verdicts(visits), verdicts(mirror)
    for name in NAMES:
        mirrored.check(there[name], back[name])
