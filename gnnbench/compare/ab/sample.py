"""What one visit says of a benchmark, in two ways."""

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...measure import estimate
from .visit import Visit

Array = NDArray[np.float64]

_FEWEST_BLOCKS = 5
"""From which the noise within a visit is estimated."""


@dataclass(frozen=True)
class Sample:
    """One visit in a few numbers, on the scale of natural logarithms."""

    base: float
    """Location of the base's blocks."""
    head: float
    turns: float
    """Median over the turns of head - base, a block of each."""
    noise: Array
    """Covariance [2, 2] of head - base and turns within the visit; NaN where there are too few blocks."""
    blocks: int
    """On each side."""


def sample(visit: Visit) -> Sample:
    """Reduce a visit.

    The location of a side is the quantile that `location` names: it keeps to one mode where layouts have two.
    The median of the turns' log ratios is the same quantity where one side is the other by a factor; it
    knows more where there is one mode, and where both sides of a turn share what disturbs them. Quantiles are
    those of Harrell and Davis (Biometrika 69, 1982): means of all order statistics, which vary less than
    those next to the quantile. The noise is that of the jackknife, as they propose, by leaving out each turn.
    """
    base, head = (np.log(np.asarray(side, dtype=float)) for side in (visit.base_ns, visit.head_ns))
    turns = head - base
    noise = np.full((2, 2), math.nan)
    if len(turns) >= _FEWEST_BLOCKS:
        of_base, of_head = (_without_each(side, estimate.QUANTILE) for side in (base, head))
        noise = np.cov(of_head - of_base, _without_each(turns, 0.5), bias=True) * (len(turns) - 1)
    return Sample(
        _quantile(base, estimate.QUANTILE),
        _quantile(head, estimate.QUANTILE),
        _quantile(turns, 0.5),
        noise,
        len(turns),
    )


def _quantile(values: Array, quantile: float) -> float:
    return float(_weights(len(values), quantile) @ np.sort(values))


def _without_each(values: Array, quantile: float) -> Array:
    """Return the quantile of all values but one, for each that is left out [n]."""
    order = np.argsort(values, kind="stable")
    ordered, weights = values[order], _weights(len(values) - 1, quantile)
    below = np.concatenate([[0.0], np.cumsum(weights * ordered[:-1])])
    above = np.concatenate([np.cumsum((weights * ordered[1:])[::-1])[::-1], [0.0]])
    found = np.empty_like(ordered)
    found[order] = below + above
    return found


@functools.cache
def _weights(n: int, quantile: float) -> Array:
    """Return the weights of n order statistics: differences of the beta distribution.

    scipy.stats.mstats.hdquantiles gives the same quantiles, but importing it takes a second.
    """
    ends = special.betainc((n + 1) * quantile, (n + 1) * (1 - quantile), np.arange(n + 1) / n)
    return np.diff(ends)
