"""How much fresh processes of the same code differ, borrowed between benchmarks where each has few.

All is on the scale of logarithms, where a variance of 0.0004 is a standard deviation of 2 %.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]

FEWEST_TO_POOL = 3
"""Benchmarks from which a common variance and its own spread can be estimated."""

_OUTLIER = 2.0
_MOST_FREEDOM = 30.0
"""That is ever borrowed: real processes have rare slow ones, which no number of benchmarks in five of them
shows."""


@dataclass(frozen=True)
class ProcessVariance:
    """The variance of a process's log location, for each benchmark [m]."""

    variance: Array
    """NaN where nothing is known of it."""
    degrees_of_freedom: Array
    """Of Student's t that goes with it."""
    own: Array
    """Degrees of freedom that a benchmark's own processes give; what is more is borrowed from the others."""
    farthest: float
    """The largest distance of a process from the middle of its side, in any benchmark."""


def moderated(sides: Sequence[Array], noise: Array, inflation: Array) -> ProcessVariance:
    """Estimate each benchmark's variance between processes from all benchmarks.

    A benchmark's own estimate from a handful of processes is now far too small and now far too large. It is
    averaged with what all benchmarks have in common, weighted by how much they have in common (the moderated
    variance of Smyth, Statistical Applications in Genetics and Molecular Biology 3, 2004). In common they
    have what processes add to the noise within them, which each benchmark knows of itself.

    Processes share their minute: where the machine drifted, all benchmarks of a process are off together,
    and a hundred of them know no more than a few. So the degrees of freedom are at most those of
    Satterthwaite's approximation for dependent estimates, as `independent_benchmarks` counts them.

    Args:
        sides: log locations [processes, m] of the same m benchmarks, NaN where one was not measured; only the
            spread within a side counts.
        noise: variance within a process [m]; NaN where that is not known.
        inflation: factor of each benchmark's whole variance [m], as drift.py gives it.
    """
    residuals = np.concatenate([side - mean(side) for side in sides])
    own = sum(np.maximum(np.isfinite(side).sum(axis=0) - 1, 0) for side in sides).astype(float)
    squares = np.nansum(residuals**2, axis=0)
    farthest = max((_farthest(side) for side in sides), default=0.0)
    known = (own > 0) & (squares > 0)
    variance = np.full(own.shape, np.nan)
    variance[own > 0] = squares[own > 0] / own[own > 0]
    if known.sum() < FEWEST_TO_POOL:
        return ProcessVariance(variance, own, own, farthest)
    there = variance[known] / inflation[known]
    within = np.where(np.isnan(noise), np.nanmedian(noise) if np.isfinite(noise).any() else 0.0, noise)
    added = max(0.0, float(np.median(there - within[known])))
    # In units of what is expected, so that a benchmark with more noise is not taken for one with less. Where
    # processes agree by luck, of something at least.
    expected = inflation * np.maximum(added + within, float(np.median(there)) / _MOST_FREEDOM)
    prior, prior_freedom = prior_of(variance[known] / expected[known], own[known])
    pooled = prior * expected
    if np.isfinite(prior_freedom):
        pooled = (squares + prior_freedom * pooled) / (own + prior_freedom)
    most = own[known].mean() * independent_benchmarks(sides, pooled * known)
    most = np.maximum(min(most, _MOST_FREEDOM), own)
    return ProcessVariance(pooled, np.minimum(own + prior_freedom, most), own, farthest)


def independent_benchmarks(sides: Sequence[Array], variance: Array) -> float:
    """Return how many independent benchmarks would give an average variance that is known as well.

    (tr C)^2 / tr(C^2) of the covariance C between benchmarks, its second term estimated without the bias
    that a few processes give it (Bai and Saranadasa, Statistica Sinica 1996); of whole runs.

    Args:
        sides: log locations [processes, m] of the same m benchmarks, NaN where one was not measured.
        variance: of each benchmark [m]; those without one are left out.
    """
    residuals, freedom = [], 0
    for side in sides:
        main = side[whole_runs(side)]
        residuals.append(main - mean(main))
        freedom += len(main) - 1
    used = variance > 0
    scaled = np.nan_to_num(np.concatenate(residuals)[:, used]) / np.sqrt(variance[used])
    if freedom < 2:  # noqa: PLR2004 - one number tells nothing of what depends on what
        return 1.0
    scaled = np.clip(scaled, -_OUTLIER, _OUTLIER)  # or a single odd process would look like dependence
    gram = scaled @ scaled.T / freedom
    trace, square = float(np.trace(gram)), float((gram**2).sum())
    square = (square - trace**2 / freedom) * freedom**2 / ((freedom - 1) * (freedom + 2))
    if trace == 0:
        return 1.0
    return float(np.clip(trace**2 / max(square, trace**2 / used.sum()), 1, used.sum()))


def _farthest(side: Array) -> float:
    several = side[:, np.isfinite(side).sum(axis=0) > 1]
    return float(np.nanmax(np.abs(several - np.nanmedian(several, axis=0)))) if several.size else 0.0


def whole_runs(side: Array) -> NDArray[np.bool_]:
    """Tell which processes ran the suite, unlike those that ran a few benchmarks again [processes]."""
    count = np.isfinite(side).sum(axis=1)
    return np.asarray(count * 2 >= count.max(initial=0))


def mean(side: Array) -> Array:
    """Return the mean of each column without NaN; NaN where there is nothing else."""
    count = np.isfinite(side).sum(axis=0)
    return np.where(count > 0, np.nansum(side, axis=0) / np.maximum(count, 1), np.nan)


def prior_of(variances: Array, freedom: Array) -> tuple[float, float]:
    """Fit what variances have in common, and for how many degrees of freedom it stands (Smyth, 2004, 6.2).

    Args:
        variances: estimates [m], all positive.
        freedom: degrees of freedom of each [m].
    """
    centred = np.log(variances) - special.digamma(freedom / 2) + np.log(freedom / 2)
    mean = float(centred.mean())
    excess = float(centred.var(ddof=1) - special.polygamma(1, freedom / 2).mean())
    if excess <= 0:
        return float(np.exp(mean)), np.inf
    prior_freedom = 2 * _inverse_trigamma(excess)
    return float(np.exp(mean + special.digamma(prior_freedom / 2) - np.log(prior_freedom / 2))), prior_freedom


def _inverse_trigamma(value: float) -> float:
    """Solve trigamma(y) = value by Newton's method, which converges from below (Smyth, appendix)."""
    y = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(special.polygamma(1, y))
        step = trigamma * (1 - trigamma / value) / float(special.polygamma(2, y))
        y += step
        if -step / y < 1e-8:  # noqa: PLR2004 - far below what the data tell
            break
    return y
