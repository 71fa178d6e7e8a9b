"""Changes of a series' noise: from where on it is noisier or steadier."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from . import changes

Array = NDArray[np.float64]

SHORTEST = 8
"""Runs that tell a spread."""
_REACH = 10
"""Runs on each side whose median stands for the level where that is not known."""
_MAD = 1.4826
_ROUNDS = 2
"""In which the spreads before and after are told from where the change was last seen."""
_ODD = 0.02
"""Share of runs whose deviation tells nothing of the spread: anywhere within a factor of e."""


def deviations(logs: Array) -> Array:
    """Return how far each run lies from its neighbours [n], which a change of level moves little."""
    return logs - ndimage.median_filter(logs, size=2 * _REACH + 1, mode="mirror")


def scores(deviations: Array) -> Array:
    """Return the normal scores of the sizes of deviations [n]."""
    return changes.normal_scores(np.abs(deviations))


def sd(deviations: Array, least: float) -> float:
    """Return the standard deviation that the median size of deviations stands for."""
    return max(_MAD * float(np.median(np.abs(deviations))), least)


def places(deviations: Array, at: int, least: float) -> tuple[int, Array]:
    """Return where a change of spread most likely is, and each place's log likelihood, up to a constant [n].

    Args:
        deviations: from the level, of a stretch with one change [n].
        at: where it was found, about.
        least: standard deviation.
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
    """Return that of a normal distribution, some of whose values are odd, and then anywhere."""
    normal = np.exp(-((deviations / scale) ** 2) / 2) / (scale * math.sqrt(2 * math.pi))
    return np.asarray(np.log((1 - _ODD) * normal + _ODD))
