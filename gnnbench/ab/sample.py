"""One visit in three numbers."""

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from gnnbench import location
from gnnbench.ab.visit import Visit

Array = NDArray[np.float64]

_FEWEST_BLOCKS = 5
"""From which the noise within a visit is estimated."""


@dataclass(frozen=True)
class Sample:
    """One visit in three numbers."""

    base: float
    """Natural logarithm of the location of the base's blocks."""
    head: float
    noise: float
    """Variance of head - base within the visit; NaN where there are too few blocks to tell."""
    blocks: int
    """On each side."""


def sample(visit: Visit) -> Sample:
    """Reduce a visit.

    The location of a side is the quantile that `location` names, estimated as Harrell and Davis do
    (Biometrika 69, 1982): a mean of all order statistics, which varies less than those next to the quantile.
    Its variance is that of the jackknife, as they propose.
    """
    logs = [np.sort(np.log(np.asarray(side, dtype=float))) for side in (visit.base_ns, visit.head_ns)]
    places = [float(_weights(len(side)) @ side) for side in logs]
    blocks = min(len(side) for side in logs)
    noise = sum(_jackknife(side) for side in logs) if blocks >= _FEWEST_BLOCKS else math.nan
    return Sample(places[0], places[1], noise, blocks)


def _jackknife(ordered: Array) -> float:
    """Return the variance of the location of ordered values, by leaving out each."""
    weights = _weights(len(ordered) - 1)
    below = np.concatenate([[0.0], np.cumsum(weights * ordered[:-1])])
    above = np.concatenate([np.cumsum((weights * ordered[1:])[::-1])[::-1], [0.0]])
    return float((below + above).var() * (len(ordered) - 1))


@functools.cache
def _weights(n: int) -> Array:
    """Return the weights of n order statistics: differences of the beta distribution."""
    ends = special.betainc(
        (n + 1) * location.QUANTILE, (n + 1) * (1 - location.QUANTILE), np.arange(n + 1) / n
    )
    return np.diff(ends)
