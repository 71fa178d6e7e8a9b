"""What pairs of processes say of each benchmark: log ratios, and how far they are known.

A pair of processes gives each benchmark one log ratio, head / base: of the named location and of the turns,
weighted so that the noise within a visit is smallest. Its variance is that between pairs, which no length of
a visit makes smaller, and the noise within the visit, which falls with the number of its blocks. Everything
is on the scale of logarithms and treats the sides alike, so that swapping them mirrors every number.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..process_variance import FEWEST_TO_POOL, independent_benchmarks, prior_of
from .estimate import RatioEstimate
from .outliers import Outliers, kept, outliers
from .sample import sample
from .visit import Visit

Array = NDArray[np.float64]

USUAL_PAIR_VARIANCE = 0.01**2
"""Between pairs of processes, as quiet kernels have it at most."""
MOST_FREEDOM = 60.0
"""That is ever borrowed: more than for saved baselines, as processes that take turns share what disturbs
them."""
_USUAL_FREEDOM = 60.0
"""Degrees of freedom that the usual variance between pairs counts for."""
_WITHIN_FREEDOM = 16.0
"""Degrees of freedom that the noise within visits counts for, beside what differs from visit to visit."""
_DISAGREEING = 4.0
"""Squares of two estimates' distance over its variance, up to which they are taken to be of the same."""
_VARIANCES = np.concatenate([[0.0], np.geomspace(1e-8, 10.0, 64)])
"""Between pairs, that are tried."""


class Evidence:
    """The pairs of a run."""

    def __init__(self, names: Sequence[str]) -> None:
        self._columns = {name: column for column, name in enumerate(names)}
        self._rows: list[Array] = []
        self.pair_variance = USUAL_PAIR_VARIANCE
        """Between pairs of processes, without the noise within: the middle benchmark's, averaged with what is
        usual. It divides the weight among visits; how large the variance is, the residuals tell."""

    def add(self, visits: Mapping[str, Visit]) -> None:
        """Add what one pair measured."""
        row = np.full((7, len(self._columns)), np.nan)
        for name, visit in visits.items():
            one = sample(visit)
            (of_location, shared), (_, of_turns) = one.noise
            noises = of_location, shared, of_turns
            row[:, self._columns[name]] = one.base, one.head, one.turns, *noises, one.blocks
        self._rows.append(row)

    def block_noise(self) -> dict[str, float]:
        """Return the variance that the noise within adds to a log ratio, times the number of blocks.

        NaN where no visit tells it.
        """
        per_block = self._table()[2]
        return dict(zip(self._columns, map(float, per_block), strict=True))

    def _measured(self) -> Array:
        """Return what `add` was given [7, pairs, m]."""
        return np.stack(self._rows, axis=1) if self._rows else np.full((7, 0, len(self._columns)), np.nan)

    def _table(self) -> tuple[Array, NDArray[np.bool_], Array, Array, Array]:
        """Return what the pairs say, and what they say of the noise within.

        Returns:
            Log ratios and blocks [2, pairs, m]; which pairs are evidence [pairs, m]; noise of a block [m];
            its degrees of freedom [m]; those that fitting the log ratios to one another took [m].
        """
        base, head, turns, *noises, blocks = self._measured()
        noise = np.stack(noises)
        difference = head - base
        keeps = kept(base, head)
        told = np.isfinite(noise[0]) & keeps
        total = np.where(told, noise * blocks**2, 0.0).sum(axis=1)
        weight = np.where(told, blocks, 0.0).sum(axis=0)
        of_location, shared, of_turns = np.where(weight > 0, total / np.maximum(weight, 1), np.nan)
        scatter = _scatter(difference - turns, turns, np.where(told, blocks, 0.0))
        share, per_block = _least_noise(of_location, shared, of_turns, scatter)
        fitted = scatter[-1] / (scatter[-1] + _WITHIN_FREEDOM)
        difference = share * difference + (1 - share) * turns
        # A jackknife of a quantile rests on about sqrt(n) of n order statistics (simulated for the decile).
        degrees_of_freedom = np.where(told, np.sqrt(np.maximum(blocks, 0)), 0.0).sum(axis=0)
        per_block, degrees_of_freedom = _shrunken(per_block, degrees_of_freedom)
        return np.stack([difference, blocks]), keeps, per_block, degrees_of_freedom, fitted

    def estimates(self) -> dict[str, RatioEstimate]:
        """Estimate every benchmark's log ratio.

        The mean over pairs, weighted by the reciprocal of what a visit's variance is expected to be: that
        between pairs, and the noise within by its number of blocks. How far it is
        from there is a factor of its own for each benchmark, the moderated one of Smyth (2004), as in
        process_variance.py: benchmarks borrow from one another as far as they have something in common.
        """
        (difference, blocks), keeps, per_block, noise_freedom, fitted = self._table()
        logs = np.where(keeps, difference, 0.0)
        within = np.where(keeps, np.nan_to_num(per_block) / np.maximum(np.nan_to_num(blocks), 1), 0.0)
        count = keeps.sum(axis=0)
        own = np.maximum(count - 1 - fitted, 0)
        told = _between(logs, within, keeps, own) if own.any() else 0.0
        self.pair_variance = (told * own.sum() + USUAL_PAIR_VARIANCE * _USUAL_FREEDOM) / (
            own.sum() + _USUAL_FREEDOM
        )
        weights = _reciprocals(self.pair_variance + within, keeps)
        total = weights.sum(axis=0)
        means = (weights * logs).sum(axis=0) / np.where(total > 0, total, np.nan)
        residuals = np.where(keeps, logs - means, np.nan)
        scale, degrees_of_freedom = _moderated(residuals, weights, own)
        # What is borrowed is in units of what is expected, whose noise within is an estimate too: squares of
        # coefficients of variation, 2 / degrees_of_freedom, add.
        share = (weights * weights * within).sum(axis=0) / np.where(total > 0, total, np.nan)
        lent = share * (1 - own / np.maximum(degrees_of_freedom, 1e-9))
        doubt = np.divide(lent**2, noise_freedom, out=np.zeros_like(share), where=noise_freedom > 0)
        degrees_of_freedom = np.where(
            degrees_of_freedom > 0, 1 / (1 / np.maximum(degrees_of_freedom, 1e-9) + doubt), 0.0
        )
        # Pairs that agree by luck do not know more than their noise within allows.
        least = np.where(within > 0, _reciprocals(within, keeps), 0.0).sum(axis=0)
        floor = np.divide(1, least, out=np.zeros_like(least), where=least > 0)
        square = np.maximum(np.divide(scale, total, out=np.full_like(total, np.nan), where=total > 0), floor)
        beyond = keeps & (np.sign(means) * logs > np.abs(means) / 4)
        base, head, *_ = self._measured()
        measured = np.isfinite(difference)
        some = (measured & ~keeps).any(axis=0)
        found = {}
        for name, column in self._columns.items():
            there = measured[:, column]
            excluded = outliers(base[there, column], head[there, column]) if some[column] else None
            found[name] = RatioEstimate(
                float(means[column]),
                math.sqrt(square[column]),
                float(degrees_of_freedom[column]),
                int(count[column]),
                excluded or Outliers(int(count[column])),
                math.sqrt(square[column] * max(count[column], 1)),
                bool(own[column] < degrees_of_freedom[column] / 2),
                float((weights * beyond)[:, column].sum() / total[column]) if total[column] else 0.0,
            )
        return found


def _scatter(apart: Array, turns: Array, blocks: Array) -> tuple[Array, Array, Array, Array]:
    """Return how far the location is from the turns, and how the visits of each benchmark differ in that.

    Args:
        apart: location less turns [pairs, m].
        turns: [pairs, m].
        blocks: of visits that count; 0 for others [pairs, m].

    Returns:
        All in units of the noise of a block: square of the mean distance; sum of squares about it; of
        products with the turns; degrees of freedom [m].
    """
    there = blocks > 0
    weight = np.maximum(blocks.sum(axis=0), 1)
    apart, turns = (np.where(there, one, 0.0) for one in (apart, turns))
    mean, middle = ((one * blocks).sum(axis=0) / weight for one in (apart, turns))
    squares = (blocks * (apart - mean) ** 2).sum(axis=0)
    products = (blocks * (apart - mean) * (turns - middle)).sum(axis=0)
    return mean**2 * weight, squares, products, np.maximum(there.sum(axis=0) - 1, 0).astype(float)


def _least_noise(
    of_location: Array, shared: Array, of_turns: Array, scatter: tuple[Array, Array, Array, Array]
) -> tuple[Array, Array]:
    """Weight two estimates so that the error of their mean is least (Bates and Granger, 1969).

    Noise within a visit says how much either varies where blocks are independent; where they are not, visits
    differ by more, and that tells it. What both share, as a pair's own ratio, has no part in the weights.
    The location is what is asked for. As far as the turns are farther from it than noise explains, as where
    the weights of two modes have changed, they are off by as much.

    Args:
        of_location: variance of a block of the first for each benchmark [m]; NaN where nothing tells it.
        shared: covariance with the second.
        of_turns: variance of the second.
        scatter: how they differ from visit to visit, as `_scatter` returns it.

    Returns:
        Weight of the first, from 0 to 1, and 1 where nothing tells it [m]; mean square of the error within a
        visit of one block [m].
    """
    apart, squares, products, degrees_of_freedom = scatter
    all_freedom = _WITHIN_FREEDOM + degrees_of_freedom
    noise = (_WITHIN_FREEDOM * (of_location + of_turns - 2 * shared) + squares) / all_freedom
    gain = (_WITHIN_FREEDOM * (of_turns - shared) - products) / all_freedom
    bias = np.maximum(apart - _DISAGREEING * noise, 0)
    whole = noise + bias
    share = np.divide(gain + bias, whole, out=np.ones_like(whole), where=whole > 0).clip(0, 1)
    rest = 1 - share
    return share, share**2 * of_location + 2 * share * rest * shared + rest**2 * (of_turns + bias)


def _reciprocals(expected: Array, kept: NDArray[np.bool_]) -> Array:
    """Return weights [..., pairs, m]; equal ones where nothing is expected to vary."""
    return np.where(kept, 1 / np.maximum(expected, 1e-12), 0.0)


def _between(logs: Array, within: Array, kept: NDArray[np.bool_], own: Array) -> float:
    """Return the variance between pairs that the middle benchmark's residuals are as large with as expected.

    As Paule and Mandel find the variance between laboratories (J. Res. NBS 87, 1982), but by the median
    over benchmarks, so that one odd benchmark counts for one.
    """
    several = own > 0
    logs, within, kept, own = logs[:, several], within[:, several], kept[:, several], own[several]
    weights = _reciprocals(_VARIANCES[:, None, None] + within, kept)
    means = (weights * logs).sum(axis=1) / weights.sum(axis=1)
    squares = (weights * (logs - means[:, None]) ** 2).sum(axis=1)
    # The median of chi-squared over its degrees of freedom.
    ratio = np.median(squares / (2 * special.gammaincinv(own / 2, 0.5)), axis=1)
    above = np.flatnonzero(ratio > 1)
    if not len(above):
        return 0.0
    last = int(above[-1])
    return float(_VARIANCES[min(last + 1, len(_VARIANCES) - 1)] + _VARIANCES[last]) / 2


def _shrunken(variances: Array, degrees_of_freedom: Array) -> tuple[Array, Array]:
    """Average variances with what they have in common, as far as they have; with their degrees of freedom."""
    known = (degrees_of_freedom > 0) & (np.nan_to_num(variances) > 0)
    if known.sum() < FEWEST_TO_POOL:
        return variances, degrees_of_freedom
    common, prior_degrees = prior_of(variances[known], degrees_of_freedom[known])
    prior_degrees = min(prior_degrees, MOST_FREEDOM)
    pooled = (variances * degrees_of_freedom + prior_degrees * common) / (degrees_of_freedom + prior_degrees)
    return np.where(known, pooled, variances), np.where(
        known, degrees_of_freedom + prior_degrees, degrees_of_freedom
    )


def _moderated(residuals: Array, weights: Array, own: Array) -> tuple[Array, Array]:
    """Return the factor of each benchmark's expected variance, and its degrees of freedom [m]."""
    squares = np.nansum(weights * residuals**2, axis=0)
    scale = np.divide(squares, own, out=np.full_like(own, np.nan), where=own > 0)
    known = (own > 0) & (squares > 0)
    if known.sum() < FEWEST_TO_POOL:
        return scale, own
    common, prior_degrees = prior_of(scale[known], own[known])
    pooled = np.full_like(scale, common)
    if np.isfinite(prior_degrees):
        pooled = (squares + prior_degrees * common) / (own + prior_degrees)
    spread = residuals * np.sqrt(weights)
    most = own[known].mean() * independent_benchmarks([spread], pooled * known)
    most = np.maximum(min(most, MOST_FREEDOM), own)
    return pooled, np.minimum(own + prior_degrees, most)
