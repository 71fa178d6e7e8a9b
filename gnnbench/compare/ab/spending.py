"""How wide an interval must be at each look, so that looking often does not make it wrong more often."""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_LOWEST, _HIGHEST = -5.0, 12.0
_GROWTH = 1.1
"""Of the information, from one look to the next: more looks cost more than they bring."""


@dataclass(frozen=True)
class Spending:
    """By what an error is spent: by the information or by the time, whichever is further.

    Information in units of the effect knows when an effect can be seen, but is of no use where much larger
    differences are all that can. There time spends (Lan and DeMets, Biometrics 45, 1989; its square, of the
    power family of Kim and DeMets, Biometrika 74, 1987), so that nothing is left at the end.

    Args:
        middle: information by which half is spent.
        steepness: with which: 1 / (1 + (middle / information) ** steepness).
    """

    middle: float
    steepness: float

    def share(self, information: float, time: float) -> float:
        """Return the part of the error that may be spent.

        Args:
            information: positive; in units of `middle`.
            time: spent, of all that there is.
        """
        return max(1 / (1 + (self.middle / information) ** self.steepness), min(time, 1.0) ** 2)


class Boundary:
    """One end of an interval, over the looks of one benchmark.

    The statistic at a look is normal, with mean 0 where the end is the truth, and its increments are
    independent in proportion to the information (Jennison and Turnbull, Group Sequential Methods, 2000, 3.1).
    The probability to be beyond an end for the first time is integrated from look to look (Armitage,
    McPherson and Rowe, JRSS A 132, 1969). It is told as a tail probability, which Student's t takes as well
    (significance-level approach, ibid. 11.4).

    Args:
        error: probability that is spent, in all.
    """

    def __init__(self, error: float) -> None:
        self._error = error
        self._information = self._spent = 0.0
        self._nodes = self._mass = np.zeros(0)
        """Of the statistic at the last look, where it has not been beyond: places and their probabilities."""

    def tail(self, information: float, share: float) -> float | None:
        """Spend a look; return the tail probability that it has, None where it is too early for one.

        Args:
            information: positive; in any unit, the same at all looks.
            share: of the error, that may be spent by now.
        """
        if information < self._information * _GROWTH:
            return None
        spent = self._error * share
        if self._information:
            known = self._information / information
            means, deviation = self._nodes * np.sqrt(known), np.sqrt(1 - known)
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
