"""Shrinks the variance of each benchmark towards a variance that all benchmarks have in common.

All values are natural logarithms of times: a variance of 0.0004 is a standard deviation of 2 %.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]

FEWEST_TO_POOL = 3
"""Smallest number of benchmarks from which a common variance, and the spread of variances, is estimated."""

_CLIP = 2.0
"""Limit of residuals, in standard deviations: larger ones make independent benchmarks look dependent."""


def shrink(
    squares: Array,
    freedom: Array,
    expected: Array,
    sides: Sequence[Array],
    most_freedom: float,
    part: float = 1.0,
) -> tuple[Array, Array]:
    """Return each benchmark's variance, shrunk towards the common variance, and its degrees of freedom [m].

    These are the moderated variances of Smyth (Statistical Applications in Genetics and Molecular Biology 3,
    2004). Benchmarks of the same process are not independent: a slow machine slows all of them. So the
    degrees of freedom are at most Satterthwaite's for dependent estimates; see `independent_benchmarks`.

    Args:
        squares: sums of squared residuals [m]; positive for at least FEWEST_TO_POOL benchmarks.
        freedom: degrees of freedom of `squares` [m].
        expected: the variance expected of each benchmark, apart from a common factor [m].
        sides: for each side, the values whose residuals were squared [processes, m].
        most_freedom: limit of the degrees of freedom. A benchmark keeps its own if they are more.
        part: share of the independent benchmarks that counts. At least one benchmark counts.
    """
    usable = (freedom > 0) & (squares > 0)
    prior, prior_freedom = prior_of(squares[usable] / freedom[usable] / expected[usable], freedom[usable])
    pooled = prior * expected
    if np.isfinite(prior_freedom):
        pooled = (squares + prior_freedom * pooled) / (freedom + prior_freedom)
    most = freedom[usable].mean() * max(part * independent_benchmarks(sides, pooled * usable), 1)
    return pooled, np.minimum(freedom + prior_freedom, np.maximum(min(most, most_freedom), freedom))


def independent_benchmarks(sides: Sequence[Array], variance: Array) -> float:
    """Return how many independent benchmarks would give an equally precise average variance.

    This is (tr C)^2 / tr(C^2), where C is the covariance between benchmarks over the processes that ran the
    whole suite. tr(C^2) is corrected for its bias with few processes (Bai and Saranadasa, Statistica Sinica
    1996). `variance`: the variance of each benchmark [m]. Benchmarks with variance 0 or NaN do not count.
    """
    residuals, freedom = [], 0
    for side in sides:
        count = np.isfinite(side).sum(axis=1)
        runs = side[2 * count >= count.max(initial=0)]  # omit processes that repeated a few benchmarks
        residuals.append(runs - mean(runs))
        freedom += len(runs) - 1
    has_variance = variance > 0
    scaled = np.nan_to_num(np.concatenate(residuals)[:, has_variance]) / np.sqrt(variance[has_variance])
    if freedom < 2:  # noqa: PLR2004 - dependence cannot be estimated
        return 1.0
    scaled = np.clip(scaled, -_CLIP, _CLIP)
    gram = scaled @ scaled.T / freedom
    trace, square = float(np.trace(gram)), float((gram**2).sum())
    square = (square - trace**2 / freedom) * freedom**2 / ((freedom - 1) * (freedom + 2))
    if trace == 0:
        return 1.0
    return float(np.clip(trace**2 / max(square, trace**2 / has_variance.sum()), 1, has_variance.sum()))


def mean(side: Array) -> Array:
    """Return the mean of each column, ignoring NaN. There is no warning if all values of a column are NaN."""
    return divide(np.nansum(side, axis=0), np.isfinite(side).sum(axis=0).astype(float), np.nan)


def divide(numerator: Array | float, denominator: Array, default: float) -> Array:
    """Return the quotients. Where the denominator is not positive, return the default."""
    default_array = np.full(np.broadcast(numerator, denominator).shape, default)
    return np.asarray(np.divide(numerator, denominator, out=default_array, where=denominator > 0))


def prior_of(variances: Array, freedom: Array) -> tuple[float, float]:
    """Return the common variance and its degrees of freedom, which may be infinite (Smyth, 2004, 6.2).

    `variances`: positive estimates. `freedom`: the degrees of freedom of each estimate [m].
    """
    centred = np.log(variances) - special.digamma(freedom / 2) + np.log(freedom / 2)
    mean = float(centred.mean())
    excess = float(centred.var(ddof=1) - special.polygamma(1, freedom / 2).mean())
    if excess <= 0:
        return float(np.exp(mean)), np.inf
    from scipy import optimize  # slow to import

    # Solve trigamma(y) = excess. Trigamma lies between 1 / y and 1 / y + 1 / y^2.
    highest = (1 + math.sqrt(1 + 4 * excess)) / (2 * excess)
    solution = optimize.brentq(lambda y: float(special.polygamma(1, y)) - excess, 1 / excess, highest)
    prior_freedom = 2 * float(solution)
    return float(np.exp(mean + special.digamma(prior_freedom / 2) - np.log(prior_freedom / 2))), prior_freedom
