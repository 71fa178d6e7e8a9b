"""A level that drifts: constant, then a straight line, then constant again."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SHORTEST = 20
"""Least number of runs of a drift; a shorter change is a step."""
_BETTER = 5.0
"""A ramp's squared error must be lower by this than that of one step, in units of the noise's variance. Each
further step has two more parameters: a ramp may be worse by this for each step after the second."""
_GRID = 33
"""Places that are tried for each end of the ramp, first on a coarse grid, then on a fine one."""
_OWN = 1.96
"""Standard errors on each side of a 95 % interval."""
_DROP = 2.0
"""Ramps within this log likelihood of the best one count for the interval."""


@dataclass(frozen=True)
class Ramp:
    """A drift of the level within a stretch, as log times."""

    first: int
    """Last run at the old level."""
    last: int
    """First run at the new level."""
    before: float
    after: float
    low: float
    """Lower bound of the interval of `after - before`; `high` is the upper one."""
    high: float
    squares: float
    """Remaining squared error, in units of the noise's variance."""

    def levels(self, count: int) -> Array:
        """Return the level of each run of the stretch [count]."""
        return (
            self.before
            + (self.after - self.before) * _rise(np.array([self.first]), np.array([self.last]), count)[0]
        )


def fit(values: Array, units: Array) -> Ramp | None:
    """Fit the best ramp to a stretch; None: the stretch is too short.

    Args:
        values: [n].
        units: standard deviation of each value [n].
    """
    size = len(values)
    if size <= SHORTEST:
        return None
    coarse = np.unique(np.linspace(0, size - 1, _GRID).astype(int))
    near = _scan(values, units, *_pairs(coarse, coarse))
    step = -(-size // (_GRID - 1))
    fine = [
        np.unique(np.clip(np.linspace(place - step, place + step, _GRID // 2).astype(int), 0, size - 1))
        for place in (near.first, near.last)
    ]
    found = _scan(values, units, *_pairs(*fine))
    return min(near, found, key=lambda one: one.squares)


def better(values: Array, units: Array, edges: list[int]) -> Ramp | None:
    """Return the ramp that fits a stretch better than its steps; None: there is none.

    Args:
        values: [n].
        units: standard deviation of each value [n].
        edges: places of the steps.
    """
    steps = sum(
        float(
            (
                ((part := values[start:end]) - np.average(part, weights=units[start:end] ** -2.0)) ** 2
                / units[start:end] ** 2
            ).sum()
        )
        for start, end in pairwise([0, *edges, len(values)])
    )
    found = fit(values, units)
    return found if found and found.squares < steps - _BETTER * (2 - len(edges)) else None


def _pairs(first: NDArray[np.int_], last: NDArray[np.int_]) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    one, other = (part.ravel() for part in np.meshgrid(first, last))
    good = other - one >= SHORTEST
    return one[good], other[good]


def _rise(first: NDArray[np.int_], last: NDArray[np.int_], count: int) -> Array:
    """Return the rise from 0 to 1 of each ramp [ramps, count]."""
    return np.clip((np.arange(count) - first[:, None]) / (last - first)[:, None], 0, 1)


def _scan(values: Array, units: Array, first: NDArray[np.int_], last: NDArray[np.int_]) -> Ramp:
    weights = units**-2.0
    whole = weights.sum()
    middle = float((values * weights).sum() / whole)
    centred = values - middle
    rise = _rise(first, last, len(values))
    means = rise @ weights / whole
    inertia = rise**2 @ weights - means**2 * whole
    gains = rise @ (weights * centred) / inertia
    squares = float((centred**2 * weights).sum()) - gains**2 * inertia
    best = int(np.argmin(squares))
    near = squares <= squares[best] + 2 * _DROP
    errors = _OWN / np.sqrt(inertia)
    before = middle - gains[best] * means[best]
    return Ramp(
        int(first[best]),
        int(last[best]),
        float(before),
        float(before + gains[best]),
        float((gains - errors)[near].min()),
        float((gains + errors)[near].max()),
        float(squares[best]),
    )
