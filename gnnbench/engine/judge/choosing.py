"""Chooses the benchmarks of the next pair, by what pairs have cost so far."""

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
"""Visits are made short enough for this many pairs; the first analysis needs four. More pairs would leave
visits of a few turns, and the first five turns vary most."""
NOT_REACHED = "not reached within the budget"
_MARGIN = 1.1
"""Factor by which the pairs of the other benchmarks may take longer than the pairs so far."""


@dataclass
class Timing:
    """What is known about a benchmark's times so far."""

    thresholds: Thresholds
    """Its own effect, and the levels of the run."""
    limit: Allowed | None = None
    """How much slower it may be. A slower benchmark is timed until it is known whether it exceeds this."""
    is_likely: bool = False
    """Whether it is likely slower, because it does more work."""
    boundaries: tuple[Boundary, Boundary] | None = None
    """Boundaries of the simultaneous and the per-benchmark interval. None before the first analysis."""
    analysis: tuple[RatioEstimate, tuple[float, float]] | None = None
    """The last interim analysis: the estimate, and the tail probabilities of both intervals."""
    judgement: Judgement = field(default_factory=lambda: Judgement("undecided", NOT_REACHED))
    decided: bool = False
    pairs: int = 0
    estimate: RatioEstimate = NOTHING
    """The estimate from all pairs so far."""
    rounds: int = 0
    layouts: int = 0
    seconds: float = 0.0
    asked: float = 0.0
    """Seconds that were planned for the turns of its visits."""
    failures: int = 0

    @property
    def counts(self) -> PairCounts:
        """The numbers of its pairs, rounds and blocks so far."""
        excluded = self.estimate.outliers.excluded
        return PairCounts(self.pairs, excluded, self.rounds, self.layouts, self.seconds, self.decided)

    @property
    def looks_changed(self) -> bool:
        """Whether it is slower or faster by the minimum effect, according to the estimate so far."""
        return abs(self.estimate.log_ratio) >= math.log1p(self.thresholds.effect)

    @property
    def pairs_to_afford(self) -> int:
        """Number of further pairs that must fit in the budget."""
        return max(PAIRS_TO_AFFORD - self.pairs, 1)


@dataclass(frozen=True)
class Choosing:
    """The choices before a pair."""

    benchmarks: Mapping[str, Timing]
    start: float
    """Seconds that a start of a pair takes: the mean so far."""
    left: float
    """Remaining seconds of the budget."""

    @cached_property
    def extra(self) -> Mapping[str, float]:
        """The mean cost of a visit beyond its planned time; without visits, the median of the others."""
        costs = {
            name: max(state.seconds - state.asked, 0.0) / state.pairs
            for name, state in self.benchmarks.items()
            if state.pairs
        }
        usual_cost = float(np.median(list(costs.values()))) if costs else 0.0
        return {name: costs.get(name, usual_cost) for name in self.benchmarks}

    @cached_property
    def undecided(self) -> Sequence[str]:
        """The benchmarks that are still measured."""
        return [name for name, state in self.benchmarks.items() if not state.decided]

    def price(self, names: Iterable[str]) -> float:
        """Return the cost of a pair with the shortest visits of some benchmarks."""
        return self.start + sum(self.extra[name] + SHORTEST_VISIT for name in names)

    def chosen(self, half: float) -> tuple[Sequence[str], int]:
        """Return the benchmarks of the next pair, and how many share the rest of the budget.

        Likely slower benchmarks come first, as long as this costs the others no verdict and leaves `half`.
        """
        likely = [name for name in self.undecided if self.benchmarks[name].is_likely]
        first = [name for name in likely if self._lacks_pairs(name)]
        others = [name for name in self.undecided if name not in first]
        remaining = self.left - self.price(first)
        if (
            first
            and remaining >= half
            and self._reached(others, remaining / _MARGIN) >= self._reached(others, self.left)
        ):
            return first, len(self.undecided)
        ranked = self._ranked
        lacking = [name for name in ranked if self.benchmarks[name].pairs < FEWEST_PAIRS]
        if lacking and self._affords(ranked, FEWEST_PAIRS):
            return ranked, len(ranked)
        unmeasured = [name for name in self.undecided if not self.benchmarks[name].pairs]
        if unmeasured and self.price(unmeasured) <= self.left:
            return unmeasured, len(self.undecided)
        names = self.decidable or ranked
        return names, len(names)

    @cached_property
    def _ranked(self) -> Sequence[str]:
        """The undecided benchmarks, next first; none gets twice PAIRS_TO_AFFORD while another lacks pairs."""
        names = self.undecided
        if any(map(self._lacks_pairs, names)):
            names = [name for name in names if self.benchmarks[name].pairs < 2 * PAIRS_TO_AFFORD - 1]
        return sorted(
            names, key=lambda name: -self.benchmarks[name].pairs if self._lacks_pairs(name) else math.inf
        )

    @cached_property
    def decidable(self) -> Sequence[str]:
        """The benchmarks that the remaining budget probably decides; those that look changed come first.

        They get the number of pairs with which most benchmarks are decided.
        """
        states, family = {name: self.benchmarks[name] for name in self._ranked}, len(self.benchmarks)
        lacking = {name: state.estimate.lacking(state.thresholds, family) for name, state in states.items()}
        ranked = sorted(states, key=lambda name: (not states[name].looks_changed, lacking[name]))
        best: Sequence[str] = ()
        for pairs in sorted(set(lacking.values())):
            seconds, names = self.left - pairs * self.start, []
            for name in ranked:
                cost = lacking[name] * (self.extra[name] + SHORTEST_VISIT)
                if lacking[name] <= pairs and cost <= seconds:
                    seconds -= cost
                    names.append(name)
            best = max(best, names, key=len)
        return best

    def reachable(self) -> int:
        """Return how many pairs each of the undecided benchmarks can have at the end."""
        return self._pairs(self.undecided, self.left)

    def _affords(self, names: Sequence[str], goal: int) -> bool:
        """Return whether the remaining budget brings each of `names` to `goal` pairs."""
        lacking = {name: max(goal - self.benchmarks[name].pairs, 1) for name in names}
        visits = sum(pairs * (self.extra[name] + SHORTEST_VISIT) for name, pairs in lacking.items())
        return max(lacking.values()) * self.start + visits <= self.left

    def _reached(self, names: Sequence[str], seconds: float) -> int:
        """Return the highest of the numbers of pairs that matter which each of `names` can have."""
        pairs = self._pairs(names, seconds)
        return max(goal for goal in (0, 1, FEWEST_PAIRS, PAIRS_TO_AFFORD) if goal <= pairs)

    def _pairs(self, names: Sequence[str], seconds: float) -> int:
        """Return the pairs of each of `names` after `seconds` of pairs with all undecided benchmarks."""
        fewest = min((self.benchmarks[name].pairs for name in names), default=PAIRS_TO_AFFORD)
        return fewest + int(max(seconds, 0.0) / self.price(self.undecided))

    def _lacks_pairs(self, name: str) -> bool:
        return self.benchmarks[name].pairs < PAIRS_TO_AFFORD
