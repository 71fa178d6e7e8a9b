"""Decides which benchmarks to time next, for how long, and when a benchmark has its verdict.

A visit is the measurement of one benchmark in one pair of processes. After each pair there is an interim
analysis. Alpha spending (Lan and DeMets, Biometrika 70, 1983) keeps the error rate: each analysis spends a
part of the error probability, as information grows and time passes. The intervals are the repeated confidence
intervals of Jennison and Turnbull (JRSS B 51, 1989), which hold at all analyses together. The last interval
is reported. A decided benchmark is not analysed again.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..ground import units
from .allowed import Allowed
from .comparison import PairCounts
from .estimate import FEWEST_PAIRS, RatioEstimate, judge_estimate
from .evidence import Evidence
from .selection import PAIRS_TO_AFFORD, SHORTEST_VISIT, Selection, Timing
from .spending import Boundary, Spending
from .verdict import SAME_CODE, Judgement, Reason, Thresholds
from .visit import PairTimes

PILOT_SECONDS = 0.5
"""Length of a visit in the first pair."""
LONGEST_VISIT = 10.0
_ROUNDING = 1e-6
"""Rounding error of sums of seconds, in seconds."""
FAILURES = 2
"""A benchmark that fails in this many pairs is given up."""
_QUIETEST = 0.002**2
"""Lower limit of the variance between pairs, when the length of visits is chosen."""
FAMILY_SPENDING = Spending(5.0, 3.0)
"""Alpha spending of the simultaneous interval, chosen by simulation. The information is 1 if the standard
error is as large as the minimum effect of interest."""
OWN_SPENDING = Spending(6.0, 4.0)
"""Alpha spending of the per-benchmark interval."""


@dataclass(frozen=True)
class PairPlan:
    """What the next pair of processes measures."""

    seconds: Mapping[str, float]
    """Seconds for the turns of both sides, by benchmark, in the order of the visits."""
    at_most_seconds: float = math.inf
    """Limit for all visits together. The remaining visits are left to the next pairs."""
    longest_seconds: float = math.inf
    """Limit for each visit. The visit ends then, even if it has too few turns to estimate their noise."""


@dataclass(frozen=True)
class Decision:
    """The verdict on a benchmark so far, and how often it was timed."""

    judgement: Judgement
    counts: PairCounts


UNTIMED = Decision(SAME_CODE, PairCounts(0, 0, 0, 0, 0.0))
"""The decision on a benchmark that needs no timing."""


class Schedule:
    """Divides a time budget among benchmarks, according to their variance and cost.

    The first pair measures each benchmark. Then benchmarks that are likely slower get up to PAIRS_TO_AFFORD
    pairs of their own. These take at most half of the budget, and leave enough for the verdicts on the other
    benchmarks. If the budget is too small for verdicts on all, each benchmark gets a pair, and the first of
    `names` get the rest. The simultaneous interval covers all benchmarks that `leave_out` has not removed.
    """

    def __init__(
        self,
        names: Sequence[str],
        thresholds: Thresholds,
        per_benchmark_seconds: float = 60.0,
        total_seconds: float = math.inf,
        random: np.random.Generator | None = None,
        total_option: str = "--total-budget",
        allowed: Mapping[str, Allowed] | None = None,
        likely: Collection[str] = (),
    ) -> None:
        self._total_option = total_option
        self._random = np.random.default_rng() if random is None else random
        self._evidence = Evidence(names)
        limits = allowed or {}
        self._benchmarks = {
            name: Timing(thresholds.of(name), limits.get(name), name in likely) for name in names
        }
        self._per_benchmark_seconds, self._total_seconds = per_benchmark_seconds, total_seconds
        self._starts: list[float] = []
        self._plan: PairPlan | None = None
        self.spent_seconds = 0.0
        """Duration of the pairs, including their starts."""
        self._untimed_seconds = 0.0
        """Time for other things than timing. Only the total budget includes it."""

    @property
    def _budget(self) -> float:
        budget = self._per_benchmark_seconds * len(self._benchmarks) + self._untimed_seconds
        return min(budget, self._total_seconds)

    @property
    def left_seconds(self) -> float:
        """The rest of the budget."""
        return max(self._budget - self.spent_seconds, 0.0)

    def _selection(self) -> Selection:
        return Selection(self._benchmarks, float(np.mean(self._starts or [0.0])), self.left_seconds)

    def decisions(self) -> dict[str, Decision]:
        """Return the decision on each benchmark so far."""
        advice = self._budget_advice()
        decisions = {}
        for name, timing in self._benchmarks.items():
            judgement, estimate = timing.judgement, timing.estimate
            lacks_pairs = estimate.pairs < estimate.fewest or not judgement.judged
            if judgement.verdict == "undecided" and lacks_pairs and advice:
                note = "enough to decide large changes, and small ones if the pairs differ little"
                judgement = replace(judgement, reason=f"{judgement.reason}; {advice}, {note}")
            decisions[name] = Decision(judgement, timing.counts)
        return decisions

    def _budget_advice(self) -> str:
        """Return options with which the budget allows PAIRS_TO_AFFORD pairs. Empty if it already does."""
        count, total, needed = len(self._benchmarks), self._total_seconds, self.needed_seconds
        options = []
        if needed > self._per_benchmark_seconds * count:
            options.append(f"--budget {math.ceil(needed / count)}")
        if needed + self._untimed_seconds > total:
            options.append(f"{self._total_option} {math.ceil(needed + self._untimed_seconds)}")
        return f"{' '.join(options)} allows about {1 + PAIRS_TO_AFFORD}" if options else ""

    @property
    def needed_seconds(self) -> float:
        """Estimated time of a first pair, and of PAIRS_TO_AFFORD more pairs with the shortest visits."""
        if not self._benchmarks:
            return 0.0
        pilots = len(self._benchmarks) * (PILOT_SECONDS - SHORTEST_VISIT)
        return (1 + PAIRS_TO_AFFORD) * self._selection().price(self._benchmarks) + pilots

    def forecast(self) -> str:
        """After the first pair, return what a pair costs and what the budget allows. Otherwise empty."""
        selection = self._selection()
        undecided = selection.undecided
        if len(self._starts) != 1 or not undecided:
            return ""
        benchmarks, seconds = units.count(len(undecided), "benchmark"), selection.price(undecided)
        text = f"a process pair takes at least {units.seconds(seconds)} for {benchmarks}: the budget allows"
        if (pairs := selection.pairs_after(undecided, selection.left_seconds)) >= FEWEST_PAIRS:
            return f"{text} about {pairs} pairs, and a verdict needs {FEWEST_PAIRS}"
        count = len(selection.decidable) or "none"
        return f"{text} verdicts on {count} of them; {self._budget_advice()} pairs for each"

    def spend(self, seconds: float) -> None:
        """Subtract time for other things than timing from the budget."""
        self._untimed_seconds += seconds
        self.spent_seconds += seconds

    def leave_out(self, name: str) -> None:
        """Remove a benchmark that needs no timing, if present. The others share its error probability.

        Benchmarks that were already analysed keep their smaller share, so the total is never exceeded.
        """
        self._benchmarks.pop(name, None)

    def next(self) -> PairPlan | None:
        """Plan the next pair. Returns None if all benchmarks are decided, or the budget is too small."""
        selection = self._selection()
        if not selection.undecided or not selection.left_seconds:
            return None
        if not self._starts:
            # All costs are unknown, so the pair ends when its share of the budget is spent.
            names = sorted(selection.undecided, key=lambda name: not self._benchmarks[name].is_likely)
            seconds = min(PILOT_SECONDS, self._budget / 2 / len(names))
            at_most = max(self._budget / PAIRS_TO_AFFORD, seconds * len(names))
            longest = self._budget / PAIRS_TO_AFFORD / len(names)
            self._plan = PairPlan(dict.fromkeys(names, seconds), at_most, longest)
            return self._plan
        limit = remaining = selection.left_seconds - selection.start_seconds
        visits = {}
        next_names, sharing = selection.next_benchmarks((self._budget - self._untimed_seconds) / 2)
        names = [str(name) for name in self._random.permutation(next_names)]
        for name, seconds in self._visit_seconds(selection, names, sharing).items():
            cost = selection.overheads[name] + seconds
            if cost <= remaining + _ROUNDING:
                remaining -= cost
                visits[name] = seconds
        self._plan = None
        if visits:
            share = selection.left_seconds / max(self._benchmarks[name].pairs_to_afford for name in visits)
            self._plan = PairPlan(visits, limit, (share - selection.start_seconds) / len(visits))
        return self._plan

    def _visit_seconds(self, selection: Selection, names: Sequence[str], sharing: int) -> dict[str, float]:
        """Return the length of each benchmark's visit in the next pair.

        If a visit of t seconds costs c + t and has the variance v + w / t, the information per second is
        largest at t = sqrt(c w / v) (Cochran, Sampling Techniques, 1977, 10.6). `sharing` benchmarks divide
        the budget among themselves, and each one's part must be enough for PAIRS_TO_AFFORD pairs.
        """
        noises = self._evidence.block_noise()
        rates = {
            name: noises[name] * timing.planned_seconds / timing.blocks
            for name in names
            if (timing := self._benchmarks[name]).blocks and math.isfinite(noises[name])
        }
        usual_rate = float(np.median(list(rates.values()))) if rates else 0.0
        variance = max(self._evidence.pair_variance, _QUIETEST)
        seconds = {}
        pairs = max((self._benchmarks[name].pairs_to_afford for name in names), default=1)
        for name in names:
            cost = selection.start_seconds / len(names) + selection.overheads[name]
            best = math.sqrt(cost * rates.get(name, usual_rate) / variance)
            affordable = selection.left_seconds / pairs / sharing - cost
            seconds[name] = max(min(best, affordable, LONGEST_VISIT), SHORTEST_VISIT)
        return seconds

    def add(self, pair: PairTimes) -> None:
        """Add the measurements of a pair, and analyse its benchmarks."""
        start_seconds = pair.further_start_seconds
        self._starts.append(pair.start_seconds if start_seconds is None else start_seconds)
        visits_seconds = sum(visit.seconds for visit in pair.visits.values())
        self.spent_seconds += pair.start_seconds + visits_seconds
        for name, visit in pair.visits.items():
            timing = self._benchmarks[name]
            if visit.wall and not timing.pairs:
                timing.thresholds = timing.thresholds.of_gpu
            timing.pairs += 1
            timing.rounds += visit.rounds
            timing.blocks += len(visit.base_ns)
            timing.seconds += visit.seconds
            timing.planned_seconds += self._plan.seconds[name] if self._plan else 0.0
        self._evidence.add(pair.visits)
        estimates = self._evidence.estimates()
        for name in pair.visits:
            self._analyse(self._benchmarks[name], estimates[name])
        for name, failure in pair.failures.items():
            timing = self._benchmarks[name]
            timing.failures += 1
            timing.decided |= timing.failures >= FAILURES
            if timing.decided or not timing.pairs:
                timing.judgement = Judgement("incomparable", failure.text)

    def _analyse(self, timing: Timing, estimate: RatioEstimate) -> None:
        """Make an interim analysis of a benchmark with a new estimate. It may decide the benchmark."""
        timing.estimate = estimate
        if estimate.pairs < FEWEST_PAIRS:
            timing.judgement = judge_estimate(estimate, timing.thresholds, len(self._benchmarks))
            return
        if timing.boundaries is None:
            error = (1 - timing.thresholds.family_level) / 2 / len(self._benchmarks)
            own_error = (1 - timing.thresholds.own_level) / 2
            timing.boundaries = Boundary(error), Boundary(own_error)
        information = estimate.information * math.log1p(timing.thresholds.effect) ** 2
        time = self.spent_seconds / self._budget
        # The boundaries count information in pairs, which does not depend on the estimated variance.
        family_tail, own_tail = (
            boundary.tail(estimate.pairs, spending.share(information, time))
            for boundary, spending in zip(timing.boundaries, (FAMILY_SPENDING, OWN_SPENDING), strict=True)
        )
        if family_tail is None or own_tail is None:
            return  # it is too early for another analysis
        tails = family_tail, own_tail
        timing.judgement = judge_estimate(estimate, timing.thresholds, len(self._benchmarks), tails)
        timing.decided = timing.judgement.verdict != "undecided" or timing.judgement.code is Reason.OTHER_MEAN
        if timing.limit and timing.decided:
            timing.decided = timing.limit.is_settled(timing.judgement, timing.thresholds)
