"""A level that drifts: constant, then a straight line, then constant again."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SHORTEST = 20
"""Runs that a drift takes; what takes fewer is a step."""
_BETTER = 5.0
"""Squared error, in units of the noise's, by which a ramp must be better than one step. Each further step is
a place and a level that a ramp does without: it may be worse by as much for each beyond the second."""
_GRID = 33
"""Places that the line's ends are looked for at, first coarsely, then finely."""
_OWN = 1.96
"""Standard errors on each side of a 95 % interval."""
_DROP = 2.0
"""Log likelihood below the largest at which a ramp's size counts for the interval."""


@dataclass(frozen=True)
class Ramp:
    """A drift of a stretch."""

    first: int
    """The last run at the old level."""
    last: int
    """The first at the new one."""
    before: float
    after: float
    low: float
    """Of the interval of after - before, with `high`."""
    high: float
    squares: float
    """Squared error that it leaves, in units of the noise's."""

    def levels(self, count: int) -> Array:
        """Return the level of each run of the stretch [count]."""
        return (
            self.before
            + (self.after - self.before) * _rise(np.array([self.first]), np.array([self.last]), count)[0]
        )


def fit(values: Array, units: Array) -> Ramp | None:
    """Fit the best ramp to a stretch; None where it is too short for one.

    Args:
        values: [n].
        units: standard deviation of each [n].
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
    """Return the ramp that describes a stretch better than steps do; None where there is none.

    Args:
        values: [n].
        units: standard deviation of each [n].
        edges: where the steps are.
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
