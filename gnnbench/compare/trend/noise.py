"""The noise of a series, estimated from differences of successive runs.

A step of the level is only one value among these differences.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Array = NDArray[np.float64]

LEAST = 0.001
"""Lower limit for the standard deviation of a log time."""
_REACH = 4
"""Runs on each side whose median is the centre for winsorizing; a level of one run more is no outlier."""
_WINSORIZED = 2.5
"""Values farther than this many standard deviations from that median are winsorized."""
_CLIP = 3.0
"""Limit for differences, in standard deviations."""
_MOST_DEPENDENCE = 0.7
_USUAL_DEPENDENCE, _USUAL_RUNS = 0.25, 40
"""Prior mean of the correlation of successive runs, and its weight in runs."""
_MAD = 1.4826
"""Standard deviation / median absolute deviation, for a normal distribution."""


def winsorized(logs: Array) -> Array:
    """Return log times with winsorized outliers [n]."""
    middle = ndimage.median_filter(logs, size=2 * _REACH + 1, mode="mirror")
    most = _WINSORIZED * max(_spread(np.diff(logs)) / np.sqrt(2), LEAST)
    return np.asarray(middle + np.clip(logs - middle, -most, most))


def long_run_sd(values: Array) -> float:
    """Return the root of the long-run variance of winsorized log times, as of an autoregressive process.

    Differences over two runs have (1 + r) times the variance of differences over one, if r is the correlation
    of successive runs (Chakar, Lebarbier, Lévy-Leduc and Robin, Bernoulli 2017, here with clipped squares
    instead of medians).

    Args:
        values: [n], n at least 4.
    """
    near, far = values[1:] - values[:-1], values[2:] - values[:-2]
    most = _CLIP * max(_spread(near), LEAST)
    squares = [float(np.mean(np.clip(part, -most, most) ** 2)) for part in (near, far)]
    dependence = squares[1] / squares[0] - 1 if squares[0] else 0.0
    own = len(values) / (len(values) + _USUAL_RUNS)
    dependence = own * dependence + (1 - own) * _USUAL_DEPENDENCE
    dependence = min(max(dependence, 0.0), _MOST_DEPENDENCE)
    sd = max(float(np.sqrt(squares[0] / 2 / (1 - dependence))), LEAST)
    return sd * float(np.sqrt((1 + dependence) / (1 - dependence)))


def _spread(differences: Array) -> float:
    return _MAD * float(np.median(np.abs(differences)))
