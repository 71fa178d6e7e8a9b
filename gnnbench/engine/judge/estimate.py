"""The estimated log ratio of one benchmark, and the verdict on it."""

import math
from dataclasses import dataclass, replace

from ..ground import units
from .outliers import FACTOR, Outliers
from .verdict import Judgement, Thresholds, judge_ratio

FEWEST_PAIRS = 4
"""Pairs, not counting excluded ones, that any verdict but "undecided" needs."""
FEWEST_FAR_PAIRS = 6
"""The same for a ratio beyond `outliers.FACTOR`. If half of the processes of identical code are in a second
mode, the same side is in it in all of four pairs once in 128 runs, in all of six once in 2,048 runs."""

_AGREEING = 0.7
"""Share of the pairs' weight that must support slower or faster if the variance is mostly shrunk."""


@dataclass(frozen=True)
class RatioEstimate:
    """The estimated log ratio of one benchmark."""

    log_ratio: float
    standard_error: float
    """NaN: unknown."""
    degrees_of_freedom: float
    pairs: int
    """Number of pairs, without excluded ones."""
    outliers: Outliers
    pair_sd: float
    """Standard deviation of a pair's log ratio, for a visit of average length."""
    shrunk: bool
    """Whether most of the degrees of freedom come from other benchmarks."""
    agreeing: float
    """Share of the pairs' weight in pairs that lie beyond a quarter of the log ratio."""

    @property
    def information(self) -> float:
        """1 / variance of the log ratio; 0: unknown."""
        if not self.pairs or math.isnan(self.standard_error):
            return 0.0
        return 1 / max(self.standard_error, 1e-9) ** 2

    @property
    def fewest(self) -> int:
        """Pairs that a verdict other than undecided needs."""
        return FEWEST_FAR_PAIRS if abs(self.log_ratio) > math.log(FACTOR) else FEWEST_PAIRS

    @property
    def too_few(self) -> str:
        """The reason of a benchmark with fewer pairs than a verdict needs."""
        return f"{units.count(self.pairs, 'pair')}, a verdict needs at least {FEWEST_PAIRS}"

    @property
    def doubt(self) -> str | None:
        """Why the interval alone allows no verdict yet; None: it does."""
        if self.pairs < FEWEST_PAIRS:
            return self.too_few
        if self.pairs < self.fewest:
            far = f"a ratio above {FACTOR:g}x needs {self.fewest}: processes may have two modes"
            return f"{units.count(self.pairs, 'pair')}, {far}"
        return self.outliers.doubt


def judged(
    estimate: RatioEstimate,
    thresholds: Thresholds,
    family: int,
    tails: tuple[float, float] | None = None,
) -> Judgement:
    """Judge a benchmark by its estimate.

    Args:
        tails: tail probability of the simultaneous and of the per-benchmark interval at this interim
            analysis. None: those of a sample of fixed size, which is analysed once.
    """
    excluded = estimate.outliers.text
    if estimate.degrees_of_freedom <= 0 or math.isnan(estimate.standard_error):
        if not estimate.pairs:
            return _counted(Judgement("incomparable", f"not measured{excluded}"), estimate)
        few = Judgement("undecided", f"{estimate.too_few}{excluded}", math.exp(estimate.log_ratio))
        return _counted(few, estimate)
    wide, own = tails or ((1 - thresholds.family_level) / 2 / family, (1 - thresholds.own_level) / 2)
    at_look = replace(thresholds, family_level=1 - 2 * wide * family, own_level=1 - 2 * own)
    found = judge_ratio(
        estimate.log_ratio, estimate.standard_error, estimate.degrees_of_freedom, at_look, family
    )
    assert found.code
    # The reason names the levels of the run, not those of this interim analysis.
    verdict, reason = found.verdict, found.code.text(thresholds)
    if verdict in ("slower", "faster") and estimate.shrunk and estimate.agreeing < _AGREEING:
        verdict, reason = "undecided", "some pairs contradict the difference"
    if estimate.doubt and verdict != "undecided":
        verdict, reason = "undecided", estimate.doubt
    return _counted(replace(found, verdict=verdict, reason=reason + excluded), estimate)


def _counted(judgement: Judgement, estimate: RatioEstimate) -> Judgement:
    return replace(
        judgement,
        process_sd=None if math.isnan(estimate.pair_sd) else estimate.pair_sd,
        shrunk=estimate.shrunk,
        base_processes=estimate.pairs,
        head_processes=estimate.pairs,
    )
