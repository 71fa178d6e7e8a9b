"""Alpha spending: tail probabilities for interim analyses that keep the error rate over all analyses."""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_LOWEST, _HIGHEST = -5.0, 12.0
_GROWTH = 1.1
"""Smallest growth of the information between interim analyses. More frequent analyses would lose power."""


@dataclass(frozen=True)
class Spending:
    """How much of the error rate may be spent: by information or by time, whichever allows more.

    Information shows when an effect of interest becomes detectable. If times are too noisy for this, the
    elapsed time decides (Lan and DeMets, Biometrics 45, 1989): the square of its fraction, from the power
    family of Kim and DeMets (Biometrika 74, 1987). So the whole error rate is spent at the end.
    """

    middle: float
    """Information at which half of the error rate is spent."""
    steepness: float
    """Exponent in 1 / (1 + (middle / information) ** steepness)."""

    def share(self, information: float, time: float) -> float:
        """Return the fraction of the error rate that may be spent. `time`: elapsed fraction of the budget."""
        return max(1 / (1 + (self.middle / max(information, 1e-50)) ** self.steepness), min(time, 1.0) ** 2)


class Boundary:
    """One end of a benchmark's interval, over all interim analyses.

    The statistic is normal, with mean 0 if the true value is at the end of the interval. Its increments are
    independent, with variances proportional to the information (Jennison and Turnbull, Group Sequential
    Methods, 2000, 3.1). The probability of crossing the boundary for the first time is integrated from one
    analysis to the next (Armitage, McPherson and Rowe, JRSS A 132, 1969). The boundary is returned as a tail
    probability, so it can be used with Student's t too (Jennison and Turnbull, 11.4: significance levels).
    """

    def __init__(self, error: float) -> None:
        self._error = error
        self._information = self._spent = 0.0
        self._nodes = self._mass = np.zeros(0)
        """Distribution of the statistic at the last analysis, if it has not crossed the boundary."""

    def tail(self, information: float, share: float) -> float | None:
        """Return the tail probability that spends a share of the error. None if it is too early to spend."""
        if information < self._information * _GROWTH:
            return None
        spent = self._error * share
        if self._information:
            fraction = self._information / information
            means, deviation = self._nodes * np.sqrt(fraction), np.sqrt(1 - fraction)
        else:
            means, deviation = np.zeros(1), 1.0
            self._mass = np.ones(1)
        mass, step = self._mass, spent - self._spent

        def excess(end: float) -> float:
            return float(mass @ special.ndtr((means - end) / deviation)) - step

        if step < 1e-12:  # noqa: PLR2004 - nothing to spend
            return None
        end = float(optimize.brentq(excess, _LOWEST, _HIGHEST, xtol=1e-6))
        half = (end - _LOWEST) / 2
        nodes = _LOWEST + half * (_NODES + 1)
        density = np.exp(-(((nodes[:, None] - means) / deviation) ** 2) / 2) @ mass
        self._mass = density / deviation / np.sqrt(2 * np.pi) * half * _WEIGHTS
        self._nodes, self._information, self._spent = nodes, information, spent
        return float(special.ndtr(-end))
