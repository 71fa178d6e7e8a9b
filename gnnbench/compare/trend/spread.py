"""Changes of a series' spread: the series becomes noisier or steadier."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from . import changes

Array = NDArray[np.float64]

SHORTEST = 8
"""Least number of runs between two changes of spread."""
_REACH = 10
"""Runs on each side whose median is taken as the level."""
_MAD = 1.4826
_ROUNDS = 2
"""Iterations of estimating the place from the spreads and the spreads from the place."""
_OUTLIERS = 0.02
"""Share of runs that are outliers, with deviations uniform over a range of 1 on the log scale."""


def deviations(logs: Array) -> Array:
    """Return each run's deviation from the running median [n]; a change of level affects few of them."""
    return logs - ndimage.median_filter(logs, size=2 * _REACH + 1, mode="mirror")


def scores(deviations: Array) -> Array:
    """Return the normal scores of absolute deviations [n]."""
    return changes.normal_scores(np.abs(deviations))


def sd(deviations: Array, least: float) -> float:
    """Return the standard deviation estimated from the median absolute deviation, at least `least`."""
    return max(_MAD * float(np.median(np.abs(deviations))), least)


def places(deviations: Array, at: int, least: float) -> tuple[int, Array]:
    """Return the likeliest place of a change of spread, and the log likelihood of each place [n].

    Args:
        deviations: deviations from the level in a stretch with one change [n].
        at: approximate place.
        least: lower limit for the standard deviations.
    """
    likelihood = np.full(len(deviations), -np.inf)
    for _ in range(_ROUNDS):
        before, after = (
            _log_density(deviations, sd(side, least)) for side in (deviations[:at], deviations[at:])
        )
        lead = np.cumsum(before - after)[:-1]
        likelihood[SHORTEST : len(lead) + 2 - SHORTEST] = lead[SHORTEST - 1 : len(lead) + 1 - SHORTEST]
        at = int(np.argmax(likelihood))
    return at, likelihood


def _log_density(deviations: Array, scale: float) -> Array:
    """Return the log density of a normal distribution with a share of outliers."""
    normal = np.exp(-((deviations / scale) ** 2) / 2) / (scale * math.sqrt(2 * math.pi))
    return np.asarray(np.log((1 - _OUTLIERS) * normal + _OUTLIERS))
