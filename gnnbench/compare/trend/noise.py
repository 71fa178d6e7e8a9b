"""What a history's noise is, whether its level changes or not.

All is told from differences of neighbours, in which a change of level is one value among many.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Array = NDArray[np.float64]

LEAST = 0.001
"""Standard deviation of a log time: none is known better."""
_REACH = 4
"""Runs on each side among which a value is an outlier; a level that lasts for one more is none."""
_PULLED = 2.5
"""Standard deviations from the median of its neighbours beyond which a value is pulled in."""
_CLIP = 3.0
"""The same of differences."""
_MOST_DEPENDENCE = 0.7
_USUAL_DEPENDENCE, _USUAL_RUNS = 0.25, 40
"""Dependence that is expected before a series is seen, and the runs that this counts for."""
_MAD = 1.4826
"""A normal distribution's standard deviation over its median absolute deviation."""


@dataclass(frozen=True)
class SeriesNoise:
    """Of a series of log times."""

    sd: float
    """Of a run."""
    dependence: float
    """Correlation of a run with the next, at least 0."""

    @property
    def unit(self) -> float:
        """The standard deviation that a run stands for in a mean of many: the root of the long-run variance.

        Of an autoregressive process of first order.
        """
        return self.sd * float(np.sqrt((1 + self.dependence) / (1 - self.dependence)))


def winsorized(logs: Array, stretches: Sequence[slice]) -> Array:
    """Return the series with its outliers at the edge of their neighbours' noise [n].

    Args:
        logs: [n].
        stretches: of one spread each, together the series.
    """
    middle = ndimage.median_filter(logs, size=2 * _REACH + 1, mode="mirror")
    values = np.empty(len(logs))
    for part in stretches:
        most = _PULLED * max(_spread(np.diff(logs[part])) / np.sqrt(2), LEAST)
        values[part] = middle[part] + np.clip(logs[part] - middle[part], -most, most)
    return values


def estimate(values: Array) -> SeriesNoise:
    """Estimate the noise of a series whose outliers are pulled in.

    Differences over two runs have (1 + dependence) times the variance of those over one (Chakar, Lebarbier,
    Lévy-Leduc and Robin, Bernoulli 2017, with clipped squares in the place of medians).

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
