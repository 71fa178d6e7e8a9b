"""The noise of a series, estimated from differences of successive runs.

A change of level is only one value among these differences.
"""

from collections.abc import Sequence
from dataclasses import dataclass

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
"""Prior mean of the dependence, and its weight in runs."""
_MAD = 1.4826
"""Standard deviation / median absolute deviation, for a normal distribution."""


@dataclass(frozen=True)
class SeriesNoise:
    """Noise of a series of log times."""

    sd: float
    """Standard deviation of one run."""
    dependence: float
    """Correlation of successive runs, at least 0."""

    @property
    def unit(self) -> float:
        """Root of the long-run variance of a first-order autoregressive process."""
        return self.sd * float(np.sqrt((1 + self.dependence) / (1 - self.dependence)))


def winsorized(logs: Array, stretches: Sequence[slice]) -> Array:
    """Return the series with winsorized outliers [n].

    Args:
        logs: [n].
        stretches: consecutive parts of the series with equal spread.
    """
    middle = ndimage.median_filter(logs, size=2 * _REACH + 1, mode="mirror")
    values = np.empty(len(logs))
    for part in stretches:
        most = _WINSORIZED * max(_spread(np.diff(logs[part])) / np.sqrt(2), LEAST)
        values[part] = middle[part] + np.clip(logs[part] - middle[part], -most, most)
    return values


def estimate(values: Array) -> SeriesNoise:
    """Estimate the noise of a winsorized series.

    Differences over two runs have (1 + dependence) times the variance of differences over one (Chakar,
    Lebarbier, Lévy-Leduc and Robin, Bernoulli 2017, here with clipped squares instead of medians).

    Args:
        values: log times [n], n at least 4.
    """
    near, far = values[1:] - values[:-1], values[2:] - values[:-2]
    most = _CLIP * max(_spread(near), LEAST)
    squares = [float(np.mean(np.clip(part, -most, most) ** 2)) for part in (near, far)]
    dependence = squares[1] / squares[0] - 1 if squares[0] else 0.0
    own = len(values) / (len(values) + _USUAL_RUNS)
    dependence = own * dependence + (1 - own) * _USUAL_DEPENDENCE
    dependence = min(max(dependence, 0.0), _MOST_DEPENDENCE)
    return SeriesNoise(max(float(np.sqrt(squares[0] / 2 / (1 - dependence))), LEAST), dependence)


def _spread(differences: Array) -> float:
    return _MAD * float(np.median(np.abs(differences)))
