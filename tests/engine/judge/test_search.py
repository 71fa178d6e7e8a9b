import math

import numpy as np
import pytest

from gnnbench.engine.judge.evidence import USUAL_PAIR_VARIANCE
from gnnbench.engine.judge.search import Observation, Search, least_change, next_position

LAST = 64
WITHIN = 0.01


class Line:
    """Candidates whose levels are known, and noisy pairs of them."""

    def __init__(self, steps, seed, pair_sd=0.01):
        self.levels = np.zeros(LAST + 1)
        for position, ratio in steps:
            self.levels[position:] += math.log(ratio)
        self.random = np.random.default_rng(seed)
        self.pair_sd = pair_sd
        log_ratio = float(self.levels[-1])
        self.search = Search(LAST, least_change(0.03, log_ratio), 1 if log_ratio > 0 else -1)
        for _ in range(4):
            self.measure(LAST)

    def measure(self, position):
        """Add a pair: its processes differ, and each may be a third slower."""
        noise = self.random.normal(0, math.hypot(self.pair_sd, WITHIN))
        slow = self.random.random(2) < 0.05
        outlier = (int(slow[0]) - int(slow[1])) * math.log(1.33)
        found = self.levels[position] + noise + outlier
        self.search.observations.append(Observation(position, found, USUAL_PAIR_VARIANCE + WITHIN**2))

    def run(self, broken=(), most_pairs=300):
        pairs = 0
        while (found := next_position({"one": self.search})) and pairs < most_pairs:
            assert found[1], "a step without a benchmark would be repeated for ever"
            if found[0] in broken:
                self.search.broken.add(found[0])
                continue
            self.measure(found[0])
            pairs += 1
        return pairs

    def found(self):
        return {one.high: one.log_ratio for one in self.search.changes() if one.high == one.low + 1}


@pytest.mark.parametrize(
    ("steps", "broken"),
    [
        ([(1, 1.1)], ()),
        ([(23, 1 / 1.1)], ()),
        ([(64, 1.1)], ()),
        ([(20, 1.12), (45, 1.08)], ()),
        ([(16, 1.3), (40, 1 / 1.15)], ()),
        ([(50, 1.1)], range(25, 40)),
    ],
)
def test_steps_forth_and_back_are_found_with_their_ratios(steps, broken):
    line = Line(steps, seed=1)
    line.run(broken)
    assert line.found() == {position: pytest.approx(math.log(ratio), abs=0.03) for position, ratio in steps}


def test_each_step_of_a_search_for_small_changes_measures_a_benchmark():
    line = Line([(position, 1.015) for position in range(10, LAST, 10)], seed=10)
    assert line.run(most_pairs=60) == 60


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 40), marks=pytest.mark.nightly)])
def test_no_other_commit_is_named_and_few_pairs_are_used(seeds):
    pairs = []
    for seed in seeds:
        position = int(np.random.default_rng(seed).integers(1, LAST + 1))
        line = Line([(position, 1.1)], seed)
        pairs.append(line.run())
        assert set(line.found()) == {position}
    assert np.mean(pairs) < 15


def test_candidates_with_the_same_code_are_not_told_apart_by_time():
    line = Line([(40, 1.1)], seed=5)
    line.search.same.append((0, 32))
    line.run()
    intervals = line.search.intervals
    assert all(one.changed == 0 for one in intervals if one.high <= 32 and one.low == 0)
    assert set(line.found()) == {40}


def test_two_benchmarks_share_their_pairs():
    lines = {"first": Line([(10, 1.1)], seed=6), "second": Line([(10, 1.2)], seed=7)}
    searches = {name: line.search for name, line in lines.items()}
    pairs = 0
    while found := next_position(searches):
        for name in found[1]:
            lines[name].measure(found[0])
        pairs += 1
    assert [set(line.found()) for line in lines.values()] == [{10}, {10}]
    assert pairs < 40
