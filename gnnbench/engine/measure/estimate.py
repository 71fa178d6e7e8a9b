"""The estimate of a benchmark's time, with its confidence interval.

A block is a few rounds on one layout (a set of addresses of the inputs). The value of a block is the median
of its rounds. The estimate is the first decile of these values; docs/experiments/measurement.md says why.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..ground.codec import LARGEST

QUANTILE = 0.1
NAME = "first decile of block medians"
"""Name of the estimate in files and on pages."""
SHOWN_LEVEL = 0.95
"""Level of the confidence interval in tables, pages, pictures and files."""
JUDGED_LEVEL = 0.99
"""Level of the interval that decides when a measurement stops, and of the interval in `standard_error`."""
FEWEST_VALUES = 3
"""With fewer independent values, there is no interval."""
FEWEST_SHOWN = 13
"""With fewer values, tables and files show no interval. Of measurements with 8 values, 17 % include no
layout of the fastest fifth; of measurements with 13 values, 6 %."""

SIZES = (3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 35, 40, 50)
REACH = {
    0.95: (32.03, 6.70, 4.80, 2.79, 1.62, 1.11, 0.81, 0.54, 0.30, 0.15, 0.06, 0.00, 0.00, 0.00),
    0.99: (161.9, 16.50, 12.04, 5.55, 3.04, 2.02, 1.48, 1.02, 0.61, 0.39, 0.26, 0.17, 0.10, 0.00),
}
"""Extrapolation of the lower bound, by level, for each number of independent values in SIZES. The bound lies
below the smallest value by this multiple of the distance between the smallest value and the median.
experiments/interval computes these numbers."""


@dataclass(frozen=True)
class Estimate:
    """An estimate with its confidence interval, in the unit of the values."""

    location: float
    low: float | None
    """Lower bound. `low` and `high` are None if there are too few values for an interval."""
    high: float | None

    @property
    def half_width(self) -> float:
        """Larger distance of a bound from the estimate, relative to the estimate; infinite without bounds."""
        if self.low is None or self.high is None:
            return math.inf
        return max(self.high - self.location, self.location - self.low) / self.location


def block_values(blocks: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return the value of each block [B]: the median of its rounds."""
    # For a few numbers, NumPy's median takes 30 times as long.
    return np.array([statistics.median(block) for block in blocks])


def estimate(values: NDArray[np.float64], level: float = SHOWN_LEVEL) -> Estimate:
    """Estimate the first decile of values, and its confidence interval.

    The estimate is the median-unbiased sample quantile (type 8 of Hyndman and Fan, The American Statistician
    1996). The bounds are order statistics. They are exact for independent values of any distribution
    (Conover, Practical Nonparametric Statistics, 3.2). If the distribution drifts, the bounds are too wide,
    because the number of values below a quantile varies less than a binomial (Hoeffding, 1956). For
    autocorrelated values, n is divided by the autocorrelation time of the indicator "at most the estimate".
    At SHOWN_LEVEL, n is also limited by the autocorrelation of the ranks.

    With fewer than 36 values (51 at a level of 0.99), the decile may lie below the smallest value. Then the
    lower bound is extrapolated on a log scale by a multiple from REACH. This is exact for log-normal values.

    `values`: float64 [n], positive, n at least 1, in the order in which they were measured.
    """
    ordered = np.sort(values)
    location, effective = _location(values)
    if level == SHOWN_LEVEL:
        effective = min(effective, _independent_by_rank(values))
    if effective < FEWEST_VALUES:
        return Estimate(location, None, None)
    first, last = _ranks(len(values), effective, level)
    low = float(ordered[max(first, 1) - 1])
    if not first:
        reach = float(np.interp(effective, SIZES, REACH[level]))
        low = max(low * (low / float(np.median(ordered))) ** reach, 2 / LARGEST)  # files have no smaller time
    return Estimate(location, low, float(ordered[last - 1]))


def standard_error(values: NDArray[np.float64]) -> float:
    """Return the standard error of the estimate's natural logarithm. Returns NaN if there is no bound.

    The larger distance of a bound (at JUDGED_LEVEL) from the estimate is divided by the normal quantile. With
    few values, there is only an upper bound. The result is then too small, by about a tenth with 15 values.
    """
    from scipy import special  # imported late, because collecting tests imports this module

    ordered = np.sort(values)
    location, effective = _location(values)
    first, last = _ranks(len(values), effective, JUDGED_LEVEL)
    bounds = [ordered[rank - 1] for rank in (first, last) if 1 <= rank <= len(values)]
    widths = [abs(math.log(bound / location)) for bound in bounds]
    return max(widths) / -float(special.ndtri((1 - JUDGED_LEVEL) / 2)) if widths else math.nan


def _location(values: NDArray[np.float64]) -> tuple[float, int]:
    """Return the estimate, and the effective number of independent values."""
    location = float(np.quantile(values, QUANTILE, method="median_unbiased"))
    return location, max(1, int(len(values) / autocorrelation_time(values <= location)))


def _independent_by_rank(values: NDArray[np.float64]) -> int:
    """Return the effective number of independent values by their ranks; 0 for fewer than FEWEST_SHOWN.

    The indicator "in the lowest tenth" of a few values says little about their autocorrelation; the ranks say
    more. If the ranks have the autocorrelation r at some lag, the indicators have about r². Because r is
    uncertain in short series, r^1.5 at the lags 1 and 2 is used. With this rule, the intervals have
    their level on all simulated machines (experiments/interval). The bias of r is -(1 + 4 r) / n (Marriott
    and Pope, Biometrika 1954).
    """
    n = len(values)
    if n < FEWEST_SHOWN:
        return 0
    ranks = np.unique(values, return_inverse=True)[1]
    centred = ranks - ranks.mean()
    variance = float(centred @ centred)
    time = 1.0
    for lag in (1, 2):
        r = float(centred[lag:] @ centred[:-lag]) / variance if variance else 0.0
        r = min(r + (1 + 4 * r) / n, 1.0)
        if r <= 0:
            break
        time += 2 * r**1.5
    return int(n / time)


def _ranks(n: int, effective: int, level: float) -> tuple[int, int]:
    """Return the ranks (from 1) of both bounds. A rank is 0 or n + 1 if no value is far enough out."""
    tail = (1 - level) / 2
    # The ranks among `effective` independent values are scaled to n values.
    below, above = _binomial_quantile(tail, effective), _binomial_quantile(1 - tail, effective) + 1
    return math.floor(below / effective * n), min(n + 1, math.ceil(above / effective * n))


def _binomial_quantile(probability: float, n: int) -> int:
    """Return binom.ppf(probability, n, QUANTILE) without importing scipy.stats, which takes a second."""
    from scipy import special

    return int(np.searchsorted(special.bdtr(np.arange(n), n, QUANTILE), probability))


def autocorrelation_time(indicator: NDArray[np.bool_]) -> float:
    """Return the integrated autocorrelation time of n values: n / time of them count as independent.

    The time is at least 1. Autocorrelations are summed in pairs of lags, up to the first pair with a sum that
    is not positive (initial positive sequence of Geyer, Statistical Science 1992). Sums within the noise of
    an independent series count as not positive.
    """
    centred = indicator - indicator.mean()
    n = len(centred)
    variance = float(centred @ centred)
    if variance == 0 or n < 4:  # noqa: PLR2004 - two pairs of lags
        return 1.0
    size = 2 ** math.ceil(math.log2(2 * n))
    spectrum = np.fft.rfft(centred, size)
    correlation = np.fft.irfft(spectrum * spectrum.conj(), size)[:n] / variance
    pairs = correlation[1 : n - 1 : 2] + correlation[2:n:2]
    ends = np.flatnonzero(pairs <= math.sqrt(2 / n))  # standard deviation of an independent series
    positive = pairs[: ends[0] if len(ends) else len(pairs)]
    return max(1.0, 1 + 2 * float(positive.sum()))
