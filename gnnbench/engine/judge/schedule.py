"""Decides which benchmarks to time next, for how long, and when each is decided.

After each pair of processes there is an interim analysis. Alpha spending (Lan and DeMets, Biometrika 70,
1983) keeps the error rate: each analysis spends a part of the error probability, as information grows and
time passes. The intervals are the repeated confidence intervals of Jennison and Turnbull (JRSS B 51, 1989),
which hold at all analyses together; the last one is reported. A decided benchmark is not analysed again.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..ground import units
from .allowed import Allowed
from .choosing import PAIRS_TO_AFFORD, SHORTEST_VISIT, Choosing, Timing
from .comparison import PairCounts
from .estimate import FEWEST_PAIRS, RatioEstimate, judged
from .evidence import Evidence
from .spending import Boundary, Spending
from .verdict import SAME_CODE as SAME
from .verdict import Judgement, Thresholds
from .visit import PairTimes

PILOT_SECONDS = 0.5
"""Length of a visit in the first pair."""
LONGEST_VISIT = 10.0
_ROUNDING = 1e-6
"""Rounding error of sums of seconds, in seconds."""
FAILURES = 2
"""A benchmark that fails in this many pairs is given up."""
_QUIETEST = 0.002**2
WIDE_SPENDING = Spending(5.0, 3.0)
"""Alpha spending of the simultaneous interval, chosen by simulation. The unit of information is that of a
standard error as large as the minimum effect of interest."""
OWN_SPENDING = Spending(6.0, 4.0)
"""The same for the per-benchmark interval."""


@dataclass(frozen=True)
class PairPlan:
    """One pair of processes to start."""

    seconds: Mapping[str, float]
    """By benchmark, in the order of the visits: seconds for the turns of both sides."""
    at_most_seconds: float = math.inf
    """After this time, the remaining visits are left to the next pairs."""
    longest_seconds: float = math.inf
    """A visit that takes this long ends, even if it has too few turns to estimate their noise."""


@dataclass(frozen=True)
class Decision:
    """The state of a benchmark."""

    judgement: Judgement
    counts: PairCounts


SAME_CODE = Decision(SAME, PairCounts(0, 0, 0, 0, 0.0))


class Schedule:
    """Divides a time budget among benchmarks, according to their variance and cost.

    The first pair measures each benchmark. Then benchmarks that are likely slower get pairs of their own, up
    to PAIRS_TO_AFFORD and half of the budget, if this costs the others no verdict. If the budget is too small
    for verdicts on all, each benchmark gets a pair, and the first of `names` get the rest. All count in the
    simultaneous interval, except those that `leave_out` removes.
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
        self._settled = 0.0
        """Time for benchmarks that need no timing. Only the total budget includes it."""

    @property
    def _budget(self) -> float:
        budget = self._per_benchmark_seconds * len(self._benchmarks) + self._settled
        return min(budget, self._total_seconds)

    @property
    def left_seconds(self) -> float:
        """The rest of the budget."""
        return max(self._budget - self.spent_seconds, 0.0)

    @property
    def _now(self) -> Choosing:
        return Choosing(self._benchmarks, float(np.mean(self._starts or [0.0])), self.left_seconds)

    def decisions(self) -> dict[str, Decision]:
        """Return the state of each benchmark."""
        enough = self._enough()
        rows = self._benchmarks.items()
        return {name: Decision(_advised(timing, enough), timing.counts) for name, timing in rows}

    def _enough(self) -> str:
        """Return the options that give time for more pairs of each benchmark. Empty if this budget does."""
        count, total, needed = len(self._benchmarks), self._total_seconds, self.needed_seconds
        options = []
        if needed > self._per_benchmark_seconds * count:
            options.append(f"--budget {math.ceil(needed / count)}")
        if needed + self._settled > total:
            options.append(f"{self._total_option} {math.ceil(needed + self._settled)}")
        return f"{' '.join(options)} allows about {1 + PAIRS_TO_AFFORD}" if options else ""

    @property
    def needed_seconds(self) -> float:
        """The cost of a first pair and PAIRS_TO_AFFORD more with the shortest visits, by the costs so far."""
        if not self._benchmarks:
            return 0.0
        pilots = len(self._benchmarks) * (PILOT_SECONDS - SHORTEST_VISIT)
        return (1 + PAIRS_TO_AFFORD) * self._now.price(self._benchmarks) + pilots

    def forecast(self) -> str:
        """Return, after the first pair, what a pair costs and what the budget will decide. Empty later."""
        now = self._now
        if len(self._starts) != 1 or not now.undecided:
            return ""
        benchmarks, seconds = units.count(len(now.undecided), "benchmark"), now.price(now.undecided)
        text = f"a pair takes at least {units.seconds(seconds)} for {benchmarks}: the budget allows"
        if (pairs := now.reachable()) >= FEWEST_PAIRS:
            return f"{text} about {pairs} pairs; a verdict needs {FEWEST_PAIRS}"
        count = len(now.decidable) or "none"
        return f"{text} verdicts on {count} of them; {self._enough()} pairs of each"

    def spend(self, seconds: float) -> None:
        """Subtract time that was needed to know which benchmarks must be timed."""
        self._settled += seconds
        self.spent_seconds += seconds

    def leave_out(self, name: str) -> None:
        """Remove a benchmark that needs no timing, if present; the others share its error probability.

        Benchmarks that have been analysed keep their smaller part, so the total is never exceeded.
        """
        self._benchmarks.pop(name, None)

    def next(self) -> PairPlan | None:
        """Plan a pair. Returns None if all benchmarks are decided, or the budget is too small for a pair."""
        now = self._now
        if not now.undecided or now.left <= 0:
            return None
        if not self._starts:
            # All costs are unknown: the pair ends when its part of the budget is spent.
            names = sorted(now.undecided, key=lambda name: not self._benchmarks[name].is_likely)
            seconds = min(PILOT_SECONDS, self._budget / 2 / len(names))
            at_most = max(self._budget / PAIRS_TO_AFFORD, seconds * len(names))
            longest = self._budget / PAIRS_TO_AFFORD / len(names)
            self._plan = PairPlan(dict.fromkeys(names, seconds), at_most, longest)
            return self._plan
        limit = remaining = now.left - now.start
        visits = {}
        chosen, sharing = now.chosen((self._budget - self._settled) / 2)
        names = [str(name) for name in self._random.permutation(chosen)]
        for name, seconds in self._visit_seconds(now, names, sharing).items():
            cost = now.extra[name] + seconds
            if cost <= remaining + _ROUNDING:
                remaining -= cost
                visits[name] = seconds
        self._plan = None
        if visits:
            share = now.left / max(self._benchmarks[name].pairs_to_afford for name in visits)
            self._plan = PairPlan(visits, limit, (share - now.start) / len(visits))
        return self._plan

    def _visit_seconds(self, now: Choosing, names: Sequence[str], sharing: int) -> dict[str, float]:
        """Return the length of each benchmark's visit in the next pair.

        If a visit of t seconds costs c + t and has the variance v + w / t, the information per second is
        largest at t = sqrt(c w / v) (Cochran, Sampling Techniques, 1977, 10.6). PAIRS_TO_AFFORD must fit in
        the budget.
        """
        noises = self._evidence.block_noise()
        rates = {
            name: noises[name] * timing.asked / timing.layouts
            for name in names
            if (timing := self._benchmarks[name]).layouts and math.isfinite(noises[name])
        }
        usual_rate = float(np.median(list(rates.values()))) if rates else 0.0
        variance = max(self._evidence.pair_variance, _QUIETEST)
        seconds = {}
        pairs = max((self._benchmarks[name].pairs_to_afford for name in names), default=1)
        for name in names:
            cost = now.start / len(names) + now.extra[name]
            best = math.sqrt(cost * rates.get(name, usual_rate) / variance)
            affordable = now.left / pairs / sharing - cost
            seconds[name] = max(min(best, affordable, LONGEST_VISIT), SHORTEST_VISIT)
        return seconds

    def add(self, pair: PairTimes) -> None:
        """Add the measurements of a pair, and analyse its benchmarks."""
        start_seconds = pair.further_start_seconds
        self._starts.append(pair.start_seconds if start_seconds is None else start_seconds)
        visits_seconds = sum(visit.seconds for visit in pair.visits.values())
        self._settled += pair.untimed_seconds
        self.spent_seconds += pair.start_seconds + pair.untimed_seconds + visits_seconds
        for name, visit in pair.visits.items():
            timing = self._benchmarks[name]
            if visit.wall and not timing.pairs:
                timing.thresholds = timing.thresholds.of_gpu
            timing.pairs += 1
            timing.rounds += visit.rounds
            timing.layouts += len(visit.base_ns)
            timing.seconds += visit.seconds
            timing.asked += self._plan.seconds[name] if self._plan else 0.0
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
        timing.estimate = estimate
        if estimate.pairs < FEWEST_PAIRS:
            timing.judgement = judged(estimate, timing.thresholds, len(self._benchmarks))
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
            for boundary, spending in zip(timing.boundaries, (WIDE_SPENDING, OWN_SPENDING), strict=True)
        )
        if family_tail is not None and own_tail is not None:
            timing.analysis = estimate, (family_tail, own_tail)
        if timing.analysis is None:
            return
        last, tails = timing.analysis
        if last is not estimate:
            if not last.pairs < last.fewest == estimate.fewest:
                return  # the last intervals stay
            # The intervals stay, but now there are enough pairs for a verdict.
            last = replace(last, pairs=estimate.pairs, outliers=estimate.outliers)
        timing.judgement = judged(last, timing.thresholds, len(self._benchmarks), tails)
        timing.decided = timing.judgement.verdict in ("slower", "faster", "same")
        if timing.limit and timing.decided:
            timing.decided = timing.limit.is_settled(timing.judgement, timing.thresholds)


def _advised(timing: Timing, enough: str) -> Judgement:
    """Add the options that give time for more pairs to a judgement from too few, if it needs any."""
    judgement, estimate = timing.judgement, timing.estimate
    lacks_pairs = estimate.pairs < estimate.fewest or not judgement.judged
    if judgement.verdict != "undecided" or not lacks_pairs or not enough:
        return judgement
    note = "enough to decide large changes, and small ones if the pairs differ little"
    return replace(judgement, reason=f"{judgement.reason}; {enough}, {note}")
