"""Estimates from one visit, the estimated log ratio of a benchmark, and the verdict on this ratio.

A visit is the measurement of one benchmark in one pair of processes. Times are logarithms of nanoseconds.
"""

import functools
import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..ground import units
from ..measure.clock import FEWEST_BLOCKS
from ..measure.estimate import QUANTILE
from .outliers import FACTOR, Outliers
from .verdict import Judgement, Thresholds, Verdict, check_mean, judge_ratio
from .visit import Visit

Array = NDArray[np.float64]

FEWEST_PAIRS = 4
"""Number of pairs, without excluded pairs, that every verdict except *undecided* needs."""
FEWEST_FAR_PAIRS = 6
"""Number of pairs for a ratio beyond `outliers.FACTOR` if processes of the run showed two modes. Assume that
half of all processes are in the slower mode. With identical code, the same side alone is then slow in all of
three pairs in 1 of 32 runs, in all of four in 1 of 128, and in all of six in 1 of 2,048."""

_AGREEING = 0.7
"""Share of the pairs' weight that must support *slower* or *faster* if the variance is mostly shrunk."""
_MOST_LACKING = 300
"""The largest forecast of the number of further pairs."""


class Sample(NamedTuple):
    """The estimates from one visit."""

    base: float
    """Estimate of the base's time: the 10th percentile of its block medians."""
    head: float
    turns: float
    """Median of `head - base` over all turns. A turn is one block of each side."""
    mean: float
    """Mean over all turns of the log ratio of the mean times of blocks."""
    mean_noise: float
    """Variance of `mean` within the visit. NaN for a single turn."""
    location_noise: float
    """Variance of `head - base` within the visit. This and the next two are NaN for too few blocks."""
    shared_noise: float
    """Covariance of `head - base` and `turns`."""
    turns_noise: float
    blocks: int
    """Number of blocks of each side."""


def sample(visit: Visit) -> Sample:
    """Return the estimates from a visit.

    The time of a side is the quantile `QUANTILE` of its blocks, which stays within one mode if memory layouts
    cause two. The median of the turns' log ratios estimates the same ratio if a constant factor separates the
    sides. This median varies less if there is one mode, or if disturbances hit both sides of a turn.
    Quantiles are weighted means of all order statistics (Harrell and Davis, Biometrika 69, 1982). The noise
    is computed by a jackknife that leaves out one turn at a time.
    """
    base, head = (np.log(np.asarray(side, dtype=float)) for side in (visit.base_ns, visit.head_ns))
    turns = head - base
    means = np.asarray(visit.mean_logs or turns)
    noise = np.full((2, 2), math.nan)
    if len(turns) >= FEWEST_BLOCKS:
        of_base, of_head = (_jackknife(side, QUANTILE) for side in (base, head))
        noise = np.cov(of_head - of_base, _jackknife(turns, 0.5), bias=True) * (len(turns) - 1)
    (location_noise, shared_noise), (_, turns_noise) = noise.tolist()
    return Sample(
        _quantile(base, QUANTILE),
        _quantile(head, QUANTILE),
        _quantile(turns, 0.5),
        float(means.mean()),
        float(means.var(ddof=1)) / len(means) if len(means) > 1 else math.nan,
        location_noise,
        shared_noise,
        turns_noise,
        len(turns),
    )


def _quantile(values: Array, quantile: float) -> float:
    return float(_weights(len(values), quantile) @ np.sort(values))


def _jackknife(values: Array, quantile: float) -> Array:
    """Return the jackknife values of a quantile [n]: value i is the quantile of all values except value i."""
    order = np.argsort(values, kind="stable")
    ordered, weights = values[order], _weights(len(values) - 1, quantile)
    below = np.concatenate([[0.0], np.cumsum(weights * ordered[:-1])])
    above = np.concatenate([np.cumsum((weights * ordered[1:])[::-1])[::-1], [0.0]])
    quantiles = np.empty_like(ordered)
    quantiles[order] = below + above
    return quantiles


@functools.cache
def _weights(n: int, quantile: float) -> Array:
    """Return the Harrell-Davis weights of n order statistics [n]. SciPy's take a second to import."""
    ends = special.betainc((n + 1) * quantile, (n + 1) * (1 - quantile), np.arange(n + 1) / n)
    return np.diff(ends)


@dataclass(frozen=True)
class RatioEstimate:
    """The estimated log ratio of one benchmark."""

    log_ratio: float
    standard_error: float
    """NaN if unknown."""
    degrees_of_freedom: float
    pairs: int
    """Number of pairs, without excluded pairs."""
    outliers: Outliers
    shrunk: bool
    """Whether most of the degrees of freedom come from other benchmarks."""
    agreeing: float
    """Weight of the pairs whose log ratios exceed a quarter of `log_ratio` / weight of all pairs."""
    mean: tuple[float, float, float] = (0.0, math.nan, 0.0)
    """Log ratio of mean calls (`log_ratio` is that of fast calls), standard error, degrees of freedom."""
    modes: bool = False
    """Whether processes showed two modes in any benchmark of the run; see `outliers.in_other_mode`."""

    @property
    def information(self) -> float:
        """1 / variance of the log ratio. 0 if unknown."""
        if not self.pairs or math.isnan(self.standard_error):
            return 0.0
        return 1 / max(self.standard_error, 1e-9) ** 2

    @property
    def fewest(self) -> int:
        """Number of pairs that a verdict other than *undecided* needs."""
        is_far = abs(self.log_ratio) > math.log(FACTOR)
        return FEWEST_FAR_PAIRS if is_far and self.modes else FEWEST_PAIRS

    def lacking(self, thresholds: Thresholds, family: int) -> int:
        """Return how many more pairs a verdict needs if the log ratio is one standard error nearer to it."""
        pairs = np.arange(max(self.fewest - self.pairs, 1), _MOST_LACKING)
        if not self.degrees_of_freedom > 0:
            return int(pairs[0])
        effect, size = math.log1p(thresholds.effect), abs(self.log_ratio)
        errors = self.standard_error * np.sqrt(self.pairs / (self.pairs + pairs))
        family_width, own_width = (
            errors * -special.stdtrit(self.degrees_of_freedom + pairs, tail)
            for tail in ((1 - thresholds.family_level) / 2 / family, (1 - thresholds.own_level) / 2)
        )
        upper, lower = size + self.standard_error, max(size - self.standard_error, 0.0)
        decides = (family_width < upper) & (upper >= effect) | (own_width + lower < effect)
        return int(pairs[decides][0]) if decides.any() else _MOST_LACKING

    def doubt(self, verdict: Verdict) -> str | None:
        """Return why the pairs do not allow the verdict of the interval. Returns None if they allow it."""
        if self.pairs < self.fewest:
            reason = f"a ratio above {FACTOR:g}x needs {self.fewest}, as processes have two modes"
            return f"{units.count(self.pairs, 'process pair')}, but {reason}"
        return self.outliers.doubt(verdict)


NOTHING = RatioEstimate(0.0, math.nan, 0.0, 0, Outliers(), shrunk=False, agreeing=0.0)


def judge_estimate(
    estimate: RatioEstimate, thresholds: Thresholds, family: int, tails: tuple[float, float] | None = None
) -> Judgement:
    """Judge a benchmark by its estimate.

    `family`: number of benchmarks that the simultaneous interval covers. `tails`: tail probabilities of the
    simultaneous and the per-benchmark interval at this interim analysis. None if there is no other analysis.
    """
    suffix = estimate.outliers.text
    if not estimate.pairs:
        return _with_counts(Judgement("incomparable", f"not measured{suffix}"), estimate)
    too_few = f"{units.count(estimate.pairs, 'process pair')}, but a verdict needs {FEWEST_PAIRS}"
    undecided = Judgement("undecided", f"{too_few}{suffix}", math.exp(estimate.log_ratio))
    if estimate.degrees_of_freedom <= 0 or math.isnan(estimate.standard_error):
        return _with_counts(undecided, estimate)
    family_tail, tail = tails or ((1 - thresholds.family_level) / 2 / family, (1 - thresholds.own_level) / 2)
    at_analysis = replace(thresholds, family_level=1 - 2 * family_tail * family, own_level=1 - 2 * tail)
    judgement = judge_ratio(
        estimate.log_ratio, estimate.standard_error, estimate.degrees_of_freedom, at_analysis, family
    )
    assert judgement.code
    # The reason names the levels of the run, not those of this interim analysis.
    verdict, reason = judgement.verdict, judgement.code.text(thresholds)
    if verdict in ("slower", "faster") and estimate.shrunk and estimate.agreeing < _AGREEING:
        verdict, reason = "undecided", "some pairs of processes contradict the difference"
    if estimate.pairs < FEWEST_PAIRS:
        if verdict not in ("slower", "faster") or suffix:
            return _with_counts(undecided, estimate)
        assert judgement.low
        assert judgement.high
        bound = units.ratio(judgement.low if verdict == "slower" else 1 / judgement.high, changed=True)
        verdict, reason = "undecided", f"at least {bound} {verdict}, not decided: {too_few}"
    elif verdict != "undecided" and (doubt := estimate.doubt(verdict)):
        verdict, reason = "undecided", doubt
    judgement = replace(judgement, verdict=verdict, reason=reason + suffix)
    return _with_counts(
        check_mean(judgement, judge_ratio(*estimate.mean, thresholds, family), thresholds), estimate
    )


def _with_counts(judgement: Judgement, estimate: RatioEstimate) -> Judgement:
    """Return a judgement to which `shrunk` and the numbers of processes are added."""
    pairs = estimate.pairs
    return replace(judgement, shrunk=estimate.shrunk, base_processes=pairs, head_processes=pairs)
