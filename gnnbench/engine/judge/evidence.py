"""Estimates each benchmark's log ratio, head / base, and its standard error, from pairs of processes.

A visit is the measurement of one benchmark in one pair; a turn is one block of each side. The log ratio of a
visit is the weighted mean of two estimates: the ratio of the sides' times, and the median of the ratios of
the turns. The weights minimise the noise within the visit. The variance of the log ratio has two parts: the
variance between pairs, which longer visits do not reduce, and the noise within the visit, which falls with
the number of blocks. All values are natural logarithms, and swapping the sides only changes signs.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from .estimate import RatioEstimate, Sample, sample
from .outliers import in_other_mode, kept_pairs, outliers
from .shrinkage import FEWEST_TO_POOL, divide, mean, prior_of, shrink
from .visit import Visit

Array = NDArray[np.float64]

USUAL_PAIR_VARIANCE = 0.01**2
"""Usual variance between pairs of processes. Kernels on a quiet machine seldom vary more."""
MOST_FREEDOM = 60.0
"""Limit of degrees of freedom after shrinkage. In `groups` it is lower: sides do not share disturbances."""
_USUAL_FREEDOM = 60.0
"""Degrees of freedom given to USUAL_PAIR_VARIANCE."""
_WITHIN_FREEDOM = 16.0
"""Degrees of freedom given to the noise within visits, to average it with the variation between visits."""
_DISAGREEING = 4.0
"""Two estimates agree if their squared distance, divided by its variance, is at most this."""
_VARIANCES = np.concatenate([[0.0], np.geomspace(1e-8, 10.0, 64)])


class Evidence:
    """The measurements of all pairs of a run."""

    def __init__(self, names: Sequence[str]) -> None:
        self._columns = {name: column for column, name in enumerate(names)}
        self._measured: Array = np.empty((len(Sample._fields), 0, len(names)))
        """The fields of `Sample` [fields, pairs, m]."""
        self.pair_variance = USUAL_PAIR_VARIANCE
        """Variance between pairs, without the noise within visits: the median benchmark's variance, averaged
        with USUAL_PAIR_VARIANCE. It only weights the pairs. Standard errors come from the residuals."""

    def add(self, visits: Mapping[str, Visit]) -> None:
        row = np.full((len(Sample._fields), len(self._columns)), np.nan)
        for name, visit in visits.items():
            row[:, self._columns[name]] = sample(visit)
        self._measured = np.append(self._measured, row[:, None], axis=1)

    def block_noise(self) -> dict[str, float]:
        """Return for each benchmark the variance within a visit of one block per side. NaN if unknown."""
        _, _, _, per_block, _, _ = self._log_ratios()
        return dict(zip(self._columns, map(float, per_block), strict=True))

    def _log_ratios(self) -> tuple[Array, Array, NDArray[np.bool_], Array, Array, Array]:
        """Return six arrays: the log ratios of visits, and the noise within visits.

        The log ratios, the numbers of blocks, and whether pairs are kept [pairs, m]. Then the variance within
        a visit of one block, its degrees of freedom, and the degrees that the two weights use up [m].
        """
        base, head, turns, _, _, *noises, blocks = self._measured
        noise = np.stack(noises)
        difference = head - base
        keeps = kept_pairs(base, head)
        has_noise = np.isfinite(noise[0]) & keeps
        total = np.where(has_noise, noise * blocks**2, 0.0).sum(axis=1)
        weight = np.where(has_noise, blocks, 0.0).sum(axis=0)
        of_location, shared, of_turns = divide(total, weight, np.nan)
        scatter = _scatter(difference - turns, turns, np.where(has_noise, blocks, 0.0))
        share, per_block = _least_noise(of_location, shared, of_turns, scatter)
        used_freedom = scatter[-1] / (scatter[-1] + _WITHIN_FREEDOM)
        difference = share * difference + (1 - share) * turns
        # Found by simulation: the jackknife of the 10th percentile uses about sqrt(n) of n order statistics.
        degrees_of_freedom = np.where(has_noise, np.sqrt(np.maximum(blocks, 0)), 0.0).sum(axis=0)
        per_block, degrees_of_freedom = _shrink_noise(per_block, degrees_of_freedom)
        return difference, blocks, keeps, per_block, degrees_of_freedom, used_freedom

    def estimates(self) -> dict[str, RatioEstimate]:
        """Estimate every benchmark's log ratio.

        The estimate is a weighted mean over pairs. A weight is the reciprocal of the expected variance: the
        variance between pairs plus the noise within the visit. The actual variance of a benchmark is the
        expected variance times a factor, which `shrinkage.shrink` shrinks towards that of all benchmarks.
        """
        difference, blocks, keeps, per_block, noise_freedom, used_freedom = self._log_ratios()
        logs = np.where(keeps, difference, 0.0)
        within = np.where(keeps, np.nan_to_num(per_block) / np.maximum(np.nan_to_num(blocks), 1), 0.0)
        count = keeps.sum(axis=0)
        freedom = np.maximum(count - 1 - used_freedom, 0)
        between = _variance_between(logs, within, keeps, freedom) if freedom.any() else 0.0
        self.pair_variance = (between * freedom.sum() + USUAL_PAIR_VARIANCE * _USUAL_FREEDOM) / (
            freedom.sum() + _USUAL_FREEDOM
        )
        weights = _reciprocals(self.pair_variance + within, keeps)
        total = weights.sum(axis=0)
        means = divide((weights * logs).sum(axis=0), total, np.nan)
        residuals = np.where(keeps, logs - means, np.nan)
        squares, scaled = np.nansum(weights * residuals**2, axis=0), [residuals * np.sqrt(weights)]
        scale, degrees_of_freedom = divide(squares, freedom, np.nan), freedom
        if ((freedom > 0) & (squares > 0)).sum() >= FEWEST_TO_POOL:
            scale, degrees_of_freedom = shrink(squares, freedom, np.ones_like(freedom), scaled, MOST_FREEDOM)
        # The shrunk part is relative to the expected variance, and the noise in that is itself an estimate:
        # the squared coefficients of variation, 2 / degrees_of_freedom, add up.
        share = divide((weights * weights * within).sum(axis=0), total, np.nan)
        borrowed = share * (1 - freedom / np.maximum(degrees_of_freedom, 1e-9))
        doubt = divide(borrowed**2, noise_freedom, 0.0)
        degrees_of_freedom = divide(1.0, divide(1.0, degrees_of_freedom, np.inf) + doubt, 0.0)
        # Pairs may agree by chance, so the noise within visits is a lower limit of the standard error.
        precision = np.where(within > 0, _reciprocals(within, keeps), 0.0).sum(axis=0)
        square = np.maximum(divide(scale, total, np.nan), divide(1.0, precision, 0.0))
        agrees = keeps & (np.sign(means) * logs > np.abs(means) / 4)
        agreeing = divide((weights * agrees).sum(axis=0), total, 0.0)
        base, head, *_ = self._measured
        mean_calls = self._mean_calls(keeps)
        measured = np.isfinite(difference)
        is_other_mode = in_other_mode(keeps, measured)
        by_name = {}
        for name, column in self._columns.items():
            pairs = measured[:, column]
            by_name[name] = RatioEstimate(
                float(means[column]),
                math.sqrt(square[column]),
                float(degrees_of_freedom[column]),
                pairs=int(count[column]),
                outliers=outliers(*(values[pairs, column] for values in (base, head, keeps, is_other_mode))),
                shrunk=bool(freedom[column] < degrees_of_freedom[column] / 2),
                agreeing=float(agreeing[column]),
                mean=(mean_calls[0][column], mean_calls[1][column], mean_calls[2][column]),
                modes=bool(is_other_mode.any()),
            )
        return by_name

    def _mean_calls(self, keeps: NDArray[np.bool_]) -> tuple[Array, Array, Array]:
        """Return the log ratios of mean calls, their standard errors, and degrees of freedom [m]."""
        logs, noises = np.where(keeps, self._measured[3:5], np.nan)
        means, count, within = mean(logs), keeps.sum(axis=0), mean(noises)
        freedom = count - 1 + np.where(np.isfinite(within), _WITHIN_FREEDOM, 0.0)
        squares = np.nansum((logs - means) ** 2, axis=0) + _WITHIN_FREEDOM * np.nan_to_num(within)
        return means, np.sqrt(divide(squares, freedom * count, np.nan)), freedom


def _scatter(distances: Array, turns: Array, blocks: Array) -> tuple[Array, Array, Array, Array]:
    """Return how far apart the two estimates of a visit are, and how this distance varies between visits.

    Returns the square of the mean distance, the sum of squares around the mean, the sum of products with
    `turns`, and the degrees of freedom [m]. The first three are scaled to visits of one block.

    Arguments [pairs, m]. `distances`: log ratio of the times minus `turns`. `blocks`: 0 for excluded pairs.
    """
    keeps = blocks > 0
    weight = np.maximum(blocks.sum(axis=0), 1)
    distances, turns = (np.where(keeps, values, 0.0) for values in (distances, turns))
    mean, turns_mean = ((values * blocks).sum(axis=0) / weight for values in (distances, turns))
    squares = (blocks * (distances - mean) ** 2).sum(axis=0)
    products = (blocks * (distances - mean) * (turns - turns_mean)).sum(axis=0)
    return mean**2 * weight, squares, products, np.maximum(keeps.sum(axis=0) - 1, 0).astype(float)


def _least_noise(
    of_location: Array, shared: Array, of_turns: Array, scatter: tuple[Array, Array, Array, Array]
) -> tuple[Array, Array]:
    """Weight two estimates so that the error of their mean is smallest (Bates and Granger, 1969).

    If blocks are independent, the noise within a visit gives the variance of both estimates. Otherwise visits
    vary by more, so the variation between visits is used too. Errors that both estimates share, such as a
    pair's own ratio, do not affect the weights. The ratio of the times is the quantity of interest. If the
    ratio of the turns differs from it by more than noise explains, the difference counts as bias. This
    happens if the shares of two modes have changed.

    Returns the weight of the ratio of the times, from 0 to 1, and the mean squared error of a visit of one
    block [m]. The weight is 1 if nothing is known. `of_location`, `shared`, `of_turns`: the variance of the
    ratio of the times, the covariance, and the variance of the ratio of the turns, for one block [m].
    """
    distance, squares, products, degrees_of_freedom = scatter
    all_freedom = _WITHIN_FREEDOM + degrees_of_freedom
    noise = (_WITHIN_FREEDOM * (of_location + of_turns - 2 * shared) + squares) / all_freedom
    gain = (_WITHIN_FREEDOM * (of_turns - shared) - products) / all_freedom
    bias = np.maximum(distance - _DISAGREEING * noise, 0)
    total = noise + bias
    share = divide(gain + bias, total, 1.0).clip(0, 1)
    rest = 1 - share
    return share, share**2 * of_location + 2 * share * rest * shared + rest**2 * (of_turns + bias)


def _reciprocals(expected: Array, keeps: NDArray[np.bool_]) -> Array:
    """Return the weights of pairs [..., pairs, m]. They are always finite, and 0 for excluded pairs."""
    return np.where(keeps, 1 / np.maximum(expected, 1e-12), 0.0)


def _variance_between(logs: Array, within: Array, keeps: NDArray[np.bool_], freedom: Array) -> float:
    """Return the variance between pairs with which the median benchmark's residuals are as large as expected.

    This is the method of Paule and Mandel (J. Res. NBS 87, 1982) for the variance between laboratories, with
    the median over benchmarks, so that a single outlying benchmark has little influence.
    """
    columns = freedom > 0
    logs, within, keeps, freedom = logs[:, columns], within[:, columns], keeps[:, columns], freedom[columns]
    weights = _reciprocals(_VARIANCES[:, None, None] + within, keeps)
    means = (weights * logs).sum(axis=1) / weights.sum(axis=1)
    squares = (weights * (logs - means[:, None]) ** 2).sum(axis=1)
    # Divide by the median of the chi-squared distribution.
    ratio = np.median(squares / (2 * special.gammaincinv(freedom / 2, 0.5)), axis=1)
    indices = np.flatnonzero(ratio > 1)
    if not len(indices):
        return 0.0
    index = int(indices[-1])
    return float(_VARIANCES[min(index + 1, len(_VARIANCES) - 1)] + _VARIANCES[index]) / 2


def _shrink_noise(variances: Array, degrees_of_freedom: Array) -> tuple[Array, Array]:
    """Shrink the noise of each benchmark's blocks towards the noise of all. Noises are independent."""
    has_noise = (degrees_of_freedom > 0) & (np.nan_to_num(variances) > 0)
    if has_noise.sum() < FEWEST_TO_POOL:
        return variances, degrees_of_freedom
    common, prior_degrees = prior_of(variances[has_noise], degrees_of_freedom[has_noise])
    prior_degrees = min(prior_degrees, MOST_FREEDOM)
    pooled = (variances * degrees_of_freedom + prior_degrees * common) / (degrees_of_freedom + prior_degrees)
    return np.where(has_noise, pooled, variances), degrees_of_freedom + prior_degrees * has_noise
