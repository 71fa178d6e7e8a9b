"""What is known of one benchmark's log ratio, and what is decided by it."""

import math
from dataclasses import dataclass, replace

from ..verdict import Judgement, Thresholds, judge_ratio
from .outliers import FACTOR, Outliers

FEWEST_PAIRS = 4
"""That are kept, for anything but "undecided"."""
FEWEST_FAR_PAIRS = 6
"""For a ratio beyond outliers.FACTOR. Where half of the processes of identical code are in a second mode, all
of four pairs have the same side in it once in 128 times, all of six once in 2,048."""

_AGREEING = 0.7
"""Share of the weight of the pairs that must lie on the verdict's side, where a variance is borrowed."""


@dataclass(frozen=True)
class RatioEstimate:
    """What is known of one benchmark's log ratio."""

    log_ratio: float
    standard_error: float
    """Of that; NaN where nothing tells it."""
    degrees_of_freedom: float
    """Degrees of freedom of that."""
    pairs: int
    """Kept."""
    outliers: Outliers
    pair_sd: float
    """Of a pair's log ratio, as the visits were, in the mean."""
    shrunk: bool
    """Whether the error is known from other benchmarks more than from this one's pairs."""
    agreeing: float
    """Share of the weight of the pairs that lie beyond a quarter of the log ratio."""

    @property
    def information(self) -> float:
        """Reciprocal of the variance of the log ratio; 0 where there is none."""
        if not self.pairs or math.isnan(self.standard_error):
            return 0.0
        return 1 / max(self.standard_error, 1e-9) ** 2

    @property
    def too_few(self) -> str:
        """Say how many pairs there are, where a verdict needs more."""
        return f"{self.pairs} of the {FEWEST_PAIRS} pairs that a verdict needs"

    @property
    def doubt(self) -> str | None:
        """Why there is no verdict yet, whatever the interval is."""
        if self.pairs < FEWEST_PAIRS:
            return self.too_few
        if abs(self.log_ratio) > math.log(FACTOR) and self.pairs < FEWEST_FAR_PAIRS:
            return f"a change by over {FACTOR:g} times needs {FEWEST_FAR_PAIRS} pairs: it may be two modes"
        return self.outliers.doubt


def judged(
    estimate: RatioEstimate,
    thresholds: Thresholds,
    family: int,
    tails: tuple[float, float] | None = None,
    *,
    doubts: bool = True,
) -> Judgement:
    """Judge a benchmark by what is known of it.

    Args:
        estimate: of its log ratio.
        thresholds: what a verdict needs.
        family: benchmarks of the run.
        tails: probability that is left beyond either end of the interval for all benchmarks at once, and of
            the benchmark's own, at this look. None: those of a sample of fixed size, which is looked at once.
        doubts: whether it also asks for enough pairs that agree. A sample of fixed size has chosen its pairs.
    """
    asides = estimate.outliers.text
    if estimate.degrees_of_freedom <= 0 or math.isnan(estimate.standard_error):
        if not estimate.pairs:
            return _counted(Judgement("incomparable", f"not measured{asides}"), estimate)
        few = Judgement("undecided", f"{estimate.too_few}{asides}", math.exp(estimate.log_ratio))
        return _counted(few, estimate)
    wide, own = tails or ((1 - thresholds.family_level) / 2 / family, (1 - thresholds.own_level) / 2)
    at_look = replace(thresholds, family_level=1 - 2 * wide * family, own_level=1 - 2 * own)
    found = judge_ratio(
        estimate.log_ratio, estimate.standard_error, estimate.degrees_of_freedom, at_look, family
    )
    assert found.code
    # The levels of the run, not those of this look.
    verdict, reason = found.verdict, found.code.text(thresholds)
    if verdict in ("slower", "faster") and doubts and estimate.shrunk and estimate.agreeing < _AGREEING:
        verdict, reason = "undecided", "the pairs do not agree"
    if doubts and estimate.doubt and verdict != "undecided":
        verdict, reason = "undecided", estimate.doubt
    return _counted(replace(found, verdict=verdict, reason=reason + asides), estimate)


def _counted(judgement: Judgement, estimate: RatioEstimate) -> Judgement:
    return replace(
        judgement,
        process_sd=None if math.isnan(estimate.pair_sd) else estimate.pair_sd,
        shrunk=estimate.shrunk,
        base_processes=estimate.pairs,
        head_processes=estimate.pairs,
    )
