"""Selects the benchmarks that the next pair of processes measures, by the times of the pairs so far.

A visit is the measurement of one benchmark in one pair.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .allowed import Allowed
from .comparison import PairCounts
from .estimate import FEWEST_PAIRS, NOTHING, RatioEstimate
from .spending import Boundary
from .verdict import Judgement, Thresholds

SHORTEST_VISIT = 0.1
PAIRS_TO_AFFORD = 6
"""Visits are so short that the budget allows this many pairs. The first analysis needs four. With more pairs,
visits would have only a few turns, and the first five turns vary most."""
NOT_REACHED = "not reached within the budget"
_MARGIN = 1.1
"""Allowance for later pairs that take longer than the pairs so far."""


@dataclass
class Timing:
    """What is known about a benchmark's times so far."""

    thresholds: Thresholds
    """The minimum effect of the benchmark, and the confidence levels of the run."""
    limit: Allowed | None = None
    """The accepted slowdown. A slower benchmark is timed until it is clear whether it exceeds this limit."""
    is_likely: bool = False
    """Whether the head is likely slower, because it does more work."""
    boundaries: tuple[Boundary, Boundary] | None = None
    """Boundaries of the simultaneous and the per-benchmark interval. None before the first analysis."""
    judgement: Judgement = field(default_factory=lambda: Judgement("undecided", NOT_REACHED))
    decided: bool = False
    pairs: int = 0
    estimate: RatioEstimate = NOTHING
    """The estimate from all pairs so far."""
    rounds: int = 0
    blocks: int = 0
    seconds: float = 0.0
    """Duration of all visits."""
    planned_seconds: float = 0.0
    """Time that was planned for the turns of all visits."""
    failures: int = 0

    @property
    def counts(self) -> PairCounts:
        """The numbers of pairs, rounds and blocks so far."""
        excluded = self.estimate.outliers.excluded
        return PairCounts(self.pairs, excluded, self.rounds, self.blocks, self.seconds, self.decided)

    @property
    def lacks_pairs(self) -> bool:
        """Whether fewer than PAIRS_TO_AFFORD pairs have measured the benchmark."""
        return self.pairs < PAIRS_TO_AFFORD

    @property
    def pairs_to_afford(self) -> int:
        """Number of further pairs for which the rest of the budget should be enough."""
        return max(PAIRS_TO_AFFORD - self.pairs, 1)


@dataclass(frozen=True)
class Selection:
    """Selects the benchmarks of the next pair, from what is known before it."""

    benchmarks: Mapping[str, Timing]
    start_seconds: float
    """Mean time that the starts of pairs have taken."""
    left_seconds: float
    """Rest of the budget."""

    @cached_property
    def overheads(self) -> Mapping[str, float]:
        """Mean time of a visit beyond the planned time. Without a visit, the median of other benchmarks."""
        costs = {
            name: max(timing.seconds - timing.planned_seconds, 0.0) / timing.pairs
            for name, timing in self.benchmarks.items()
            if timing.pairs
        }
        usual_cost = float(np.median(list(costs.values()))) if costs else 0.0
        return {name: costs.get(name, usual_cost) for name in self.benchmarks}

    @cached_property
    def undecided(self) -> Sequence[str]:
        """The benchmarks that are neither decided nor given up, and so are still measured."""
        return [name for name, timing in self.benchmarks.items() if not timing.decided]

    def price(self, names: Iterable[str]) -> float:
        """Return the seconds that a pair takes if its visits of some benchmarks are as short as possible."""
        return self.start_seconds + sum(self.overheads[name] + SHORTEST_VISIT for name in names)

    def next_benchmarks(self, reserve_seconds: float) -> tuple[Sequence[str], int]:
        """Return the benchmarks of the next pair, and how many benchmarks share the remaining budget.

        Likely slower benchmarks come first if the others keep their verdicts and `reserve_seconds` are left.
        """
        likely = [name for name in self.undecided if self.benchmarks[name].is_likely]
        first = [name for name in likely if self.benchmarks[name].lacks_pairs]
        others = [name for name in self.undecided if name not in first]
        remaining = self.left_seconds - self.price(first)
        if (
            first
            and remaining >= reserve_seconds
            and self._milestone(others, remaining / _MARGIN) >= self._milestone(others, self.left_seconds)
        ):
            return first, len(self.undecided)
        candidates = self._candidates
        lacking = [name for name in candidates if self.benchmarks[name].pairs < FEWEST_PAIRS]
        if lacking and self._affords(candidates, FEWEST_PAIRS):
            return candidates, len(candidates)
        unmeasured = [name for name in self.undecided if not self.benchmarks[name].pairs]
        if unmeasured and self.price(unmeasured) <= self.left_seconds:
            return unmeasured, len(self.undecided)
        names = self.decidable or candidates
        return names, len(names)

    @cached_property
    def _candidates(self) -> Sequence[str]:
        """The undecided benchmarks. Those that lack pairs come first, in descending order of their pairs."""
        timings = self.benchmarks
        return sorted(
            self.undecided,
            key=lambda name: -timings[name].pairs if timings[name].lacks_pairs else math.inf,
        )

    @cached_property
    def decidable(self) -> Sequence[str]:
        """The benchmarks that the rest of the budget probably decides. Those that look changed come first.

        They get the number of further pairs that decides most benchmarks.
        """
        timings, family = {name: self.benchmarks[name] for name in self._candidates}, len(self.benchmarks)
        lacking = {
            name: timing.estimate.lacking(timing.thresholds, family) for name, timing in timings.items()
        }
        looks_same = {
            name: abs(timing.estimate.log_ratio) < math.log1p(timing.thresholds.effect)
            for name, timing in timings.items()
        }
        ranked = sorted(timings, key=lambda name: (looks_same[name], lacking[name]))
        best: Sequence[str] = ()
        for pairs in sorted(set(lacking.values())):
            seconds, names = self.left_seconds - pairs * self.start_seconds, []
            for name in ranked:
                cost = lacking[name] * (self.overheads[name] + SHORTEST_VISIT)
                if lacking[name] <= pairs and cost <= seconds:
                    seconds -= cost
                    names.append(name)
            best = max(best, names, key=len)
        return best

    def _affords(self, names: Sequence[str], goal: int) -> bool:
        """Return whether the rest of the budget is enough for `goal` pairs of each of `names`."""
        lacking = {name: max(goal - self.benchmarks[name].pairs, 1) for name in names}
        visits = sum(pairs * (self.overheads[name] + SHORTEST_VISIT) for name, pairs in lacking.items())
        return max(lacking.values()) * self.start_seconds + visits <= self.left_seconds

    def _milestone(self, names: Sequence[str], seconds: float) -> int:
        """Return the milestone that all of `names` reach: 0, 1, FEWEST_PAIRS or PAIRS_TO_AFFORD pairs."""
        pairs = self.pairs_after(names, seconds)
        return max(goal for goal in (0, 1, FEWEST_PAIRS, PAIRS_TO_AFFORD) if goal <= pairs)

    def pairs_after(self, names: Sequence[str], seconds: float) -> int:
        """Return how many pairs each of `names` has after `seconds` if all undecided benchmarks are timed."""
        fewest = min((self.benchmarks[name].pairs for name in names), default=PAIRS_TO_AFFORD)
        return fewest + int(max(seconds, 0.0) / self.price(self.undecided))
