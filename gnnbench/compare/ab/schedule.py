"""What to measure next, and when to stop.

Looking often does no harm where errors are spent (Lan and DeMets, Biometrika 70, 1983): of the probability
that an interval ever misses, each look spends a part, as information grows and time passes. Intervals that
hold at all looks at once are the repeated confidence intervals of Jennison and Turnbull (JRSS B 51, 1989):
those of the last look are what is told. A benchmark that is decided is not looked at again.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..verdict import Judgement, Thresholds
from .estimate import FEWEST_PAIRS, RatioEstimate, judged
from .evidence import Evidence
from .spending import Boundary, Spending
from .visit import Pair

PILOT_SECONDS = 0.5
"""Of a visit in the first pair, whose processes must start anyway."""
SHORTEST_VISIT, LONGEST_VISIT = 0.1, 10.0
PAIRS_TO_AFFORD = 6
"""That visits leave time for, where time is short: the first look is at four. More would be visits of a few
turns, the first five of which vary most."""
FAILURES = 2
"""Pairs in which a benchmark may fail before it is given up."""
_QUIETEST = 0.002**2
WIDE_SPENDING = Spending(5.0, 3.0)
"""Of the interval for all benchmarks at once, chosen by simulation; the unit of information is that of a
standard error as large as the effect."""
OWN_SPENDING = Spending(6.0, 4.0)
"""The same of a benchmark's own interval."""


@dataclass(frozen=True)
class Plan:
    """One pair of processes to start."""

    seconds: Mapping[str, float]
    """By benchmark, in the order of the visits: for how long its blocks are timed, both sides together."""


@dataclass(frozen=True)
class Decision:
    """Where a benchmark stands."""

    judgement: Judgement
    pairs: int
    """In which it was measured, excluded ones too."""
    excluded: int
    """Of them, excluded as outliers."""
    rounds: int
    """Timed on each side."""
    layouts: int
    """Blocks on each side."""
    seconds: float
    """That its visits took."""
    decided: bool
    """Whether it is measured no more: decided, or given up."""


@dataclass
class _Benchmark:
    """What is kept of one benchmark."""

    boundaries: tuple[Boundary, Boundary] | None = None
    """Of the interval for all benchmarks at once and of its own, from the first look on."""
    judgement: Judgement = field(default_factory=lambda: Judgement("incomparable", "not measured"))
    decided: bool = False
    pairs: int = 0
    excluded: int = 0
    rounds: int = 0
    layouts: int = 0
    seconds: float = 0.0
    asked: float = 0.0
    """Seconds that its visits were to take."""
    failures: int = 0


class Schedule:
    """Divides a budget of time among benchmarks, by what varies and what it costs.

    Args:
        names: benchmarks, all of which the simultaneous interval counts but those that are left out.
        thresholds: what a verdict needs.
        per_benchmark_seconds: times their number is the budget.
        total_seconds: bounds it.
        random: draws the order of visits.
    """

    def __init__(
        self,
        names: Sequence[str],
        thresholds: Thresholds,
        per_benchmark_seconds: float = 60.0,
        total_seconds: float | None = None,
        random: np.random.Generator | None = None,
    ) -> None:
        self._thresholds = thresholds
        self._random = np.random.default_rng() if random is None else random
        self._evidence = Evidence(names)
        self._unit = math.log1p(thresholds.effect) ** 2
        self._benchmarks = {name: _Benchmark() for name in names}
        self._per_benchmark_seconds, self._total_seconds = per_benchmark_seconds, total_seconds
        self._starts: list[float] = []
        self._plan: Plan | None = None
        self._spent = 0.0

    @property
    def _budget(self) -> float:
        budget = self._per_benchmark_seconds * len(self._benchmarks)
        return budget if self._total_seconds is None else min(budget, self._total_seconds)

    @property
    def spent_seconds(self) -> float:
        """Time that the pairs took, their starts too."""
        return self._spent

    @property
    def left_seconds(self) -> float:
        """What is left of the budget."""
        return max(self._budget - self._spent, 0.0)

    @property
    def undecided(self) -> list[str]:
        """Benchmarks that are still measured."""
        return [name for name, one in self._benchmarks.items() if not one.decided]

    def decisions(self) -> dict[str, Decision]:
        """Return where each benchmark stands, now or at the end."""
        needed = math.ceil(self._needed_seconds())
        return {
            name: Decision(
                self._advised(one.judgement, needed),
                one.pairs,
                one.excluded,
                one.rounds,
                one.layouts,
                one.seconds,
                one.decided,
            )
            for name, one in self._benchmarks.items()
        }

    def _advised(self, judgement: Judgement, needed: int) -> Judgement:
        """Say beside too few pairs which budget would have paid for enough, where it was smaller.

        Args:
            judgement: of a benchmark.
            needed: seconds for all benchmarks together.
        """
        if judgement.verdict != "undecided" or judgement.judged or needed <= self._budget:
            return judgement
        count, total = len(self._benchmarks), self._total_seconds
        options = []
        if needed > self._per_benchmark_seconds * count:
            options.append(f"--budget {math.ceil(needed / count)}")
        if total is not None and needed > total:
            options.append(f"--total-budget {needed}")
        reason = f"{judgement.reason}; {' '.join(options)} would be enough, about {needed} s in all"
        return replace(judgement, reason=reason)

    def _needed_seconds(self) -> float:
        """Return what a pilot and the pairs to afford would cost, with visits as short as they may be.

        Starts, and what visits cost besides their time, are the mean of those so far.
        """
        start = float(np.mean(self._starts or [0.0]))
        visits = sum(self._extra(name) + SHORTEST_VISIT for name in self._benchmarks)
        return len(self._benchmarks) * PILOT_SECONDS + PAIRS_TO_AFFORD * (start + visits)

    def leave_out(self, name: str) -> None:
        """Forget a benchmark of which nothing was measured: the others have its part of the error.

        What was looked at before keeps its own part, of a larger number: together they never have more.
        """
        del self._benchmarks[name]

    def next(self) -> Plan | None:
        """Plan a pair; None when all is decided or the budget cannot pay for another pair."""
        names = [str(name) for name in self._random.permutation(self.undecided)]
        if not names or self.left_seconds <= 0:
            return None
        if not self._starts:
            # Start-ups are not known yet; at worst half of the budget is for the visits of the pilot.
            self._plan = Plan(dict.fromkeys(names, min(PILOT_SECONDS, self._budget / 2 / len(names))))
            return self._plan
        start = float(np.mean(self._starts))
        left, afford = self.left_seconds - start, {}
        for name, seconds in self._visit_seconds(names, start).items():
            cost = self._extra(name) + seconds
            if cost <= left:
                left -= cost
                afford[name] = seconds
        self._plan = Plan(afford) if afford else None
        return self._plan

    def _extra(self, name: str) -> float:
        """Return what a visit costs besides the time that was asked for: set-up, calibration, long blocks."""
        one = self._benchmarks[name]
        return max(one.seconds - one.asked, 0.0) / max(one.pairs, 1)

    def _visit_seconds(self, names: Sequence[str], start: float) -> dict[str, float]:
        """Return for how long to visit each benchmark in the next pair.

        A pair that costs a benchmark c + t seconds and has the variance v + w / t tells most per second at
        t = sqrt(c w / v) (Cochran, Sampling Techniques, 1977, 10.6). A few pairs at least must fit in the
        budget.
        """
        noises = self._evidence.block_noise()
        rates = {
            name: noises[name] * one.asked / one.layouts
            for name in names
            if (one := self._benchmarks[name]).layouts and math.isfinite(noises[name])
        }
        usual = float(np.median(list(rates.values()))) if rates else 0.0
        variance = max(self._evidence.pair_variance, _QUIETEST)
        pairs = max(PAIRS_TO_AFFORD - len(self._starts), 1)
        seconds = {}
        for name in names:
            cost = start / len(names) + self._extra(name)
            best = math.sqrt(cost * rates.get(name, usual) / variance)
            affordable = self.left_seconds / pairs / len(names) - cost
            seconds[name] = max(min(best, affordable, LONGEST_VISIT), SHORTEST_VISIT)
        return seconds

    def add(self, pair: Pair) -> None:
        """Take in what a pair measured, and look at its benchmarks."""
        self._starts.append(pair.start_seconds)
        self._spent += pair.start_seconds + sum(visit.seconds for visit in pair.visits.values())
        for name, visit in pair.visits.items():
            one = self._benchmarks[name]
            one.pairs += 1
            one.rounds += visit.rounds
            one.layouts += len(visit.base_ns)
            one.seconds += visit.seconds
            one.asked += self._plan.seconds[name] if self._plan else 0.0
        self._evidence.add(pair.visits)
        estimates = self._evidence.estimates()
        for name in pair.visits:
            self._look(self._benchmarks[name], estimates[name])
        for name, why in pair.failures.items():
            one = self._benchmarks[name]
            one.failures += 1
            one.decided |= one.failures >= FAILURES
            if one.decided or not one.pairs:
                one.judgement = Judgement("incomparable", why.text)

    def _look(self, one: _Benchmark, estimate: RatioEstimate) -> None:
        one.excluded = estimate.outliers.excluded
        if estimate.pairs < FEWEST_PAIRS:
            one.judgement = judged(
                replace(estimate, degrees_of_freedom=0.0), self._thresholds, len(self._benchmarks)
            )
            return
        if one.boundaries is None:
            error = (1 - self._thresholds.family_level) / 2 / len(self._benchmarks)
            own_error = (1 - self._thresholds.own_level) / 2
            one.boundaries = Boundary(error), Boundary(own_error)
        information, time = estimate.information * self._unit, self._spent / self._budget
        # From look to look information grows as the pairs do, however well their variance is known at each.
        wide, own = (
            boundary.tail(estimate.pairs, spending.share(information, time))
            for boundary, spending in zip(one.boundaries, (WIDE_SPENDING, OWN_SPENDING), strict=True)
        )
        if wide is None or own is None:
            return  # the intervals of the last look hold
        one.judgement = judged(estimate, self._thresholds, len(self._benchmarks), (wide, own))
        one.decided = one.judgement.verdict in ("slower", "faster", "same")
