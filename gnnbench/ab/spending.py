"""How wide an interval must be at each look, so that looking often does not make it wrong more often."""

import numpy as np
from scipy import optimize, special

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_LOWEST, _HIGHEST = -5.0, 12.0
_GROWTH = 1.1
"""Of the information, from one look to the next: more looks cost more than they bring."""


class Boundary:
    """One end of an interval, over the looks of one benchmark.

    The statistic at a look is normal, with mean 0 where the end is the truth, and its increments are
    independent in proportion to the information (Jennison and Turnbull, Group Sequential Methods, 2000, 3.1).
    The probability to be beyond an end for the first time is integrated from look to look (Armitage,
    McPherson and Rowe, JRSS A 132, 1969). It is told as a tail probability, which Student's t takes as well
    (significance-level approach, ibid. 11.4).

    Args:
        error: probability that is spent, in all.
        middle: information by which half of it is spent.
        steepness: with which: spent = error / (1 + (middle / information) ** steepness).
    """

    def __init__(self, error: float, middle: float, steepness: float) -> None:
        self._error, self._middle, self._steepness = error, middle, steepness
        self._information = self._spent = 0.0
        self._nodes = self._mass = np.zeros(0)
        """Of the statistic at the last look, where it has not been beyond: places and their probabilities."""

    def tail(self, information: float) -> float | None:
        """Spend a look; return the tail probability that it has, None where it is too early for one."""
        if information < self._information * _GROWTH or information <= 0:
            return None
        spent = self._error / (1 + (self._middle / information) ** self._steepness)
        if self._information:
            share = self._information / information
            means, deviation = self._nodes * np.sqrt(share), np.sqrt(1 - share)
        else:
            means, deviation = np.zeros(1), 1.0
            self._mass = np.ones(1)
        mass, step = self._mass, spent - self._spent

        def excess(end: float) -> float:
            return float(mass @ special.ndtr((means - end) / deviation)) - step

        if step < 1e-12:  # noqa: PLR2004 - nothing worth a look
            return None
        end = float(optimize.brentq(excess, _LOWEST, _HIGHEST, xtol=1e-6))
        half = (end - _LOWEST) / 2
        nodes = _LOWEST + half * (_NODES + 1)
        density = np.exp(-(((nodes[:, None] - means) / deviation) ** 2) / 2) @ mass
        self._mass = density / deviation / np.sqrt(2 * np.pi) * half * _WEIGHTS
        self._nodes, self._information, self._spent = nodes, information, spent
        return float(special.ndtr(-end))
