"""Where a series changes: an optimal segmentation, and the 95 % range of each change's place."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

Array = NDArray[np.float64]

_DROP = 3.68
"""A place is in the 95 % range of a change if its log likelihood is at most this much below the largest.

For a small change, the lead of the likeliest place over the true one is the larger of two independent
exponential variables: (1 - exp(-x))^2 = 0.95 (Siegmund, International Statistical Review 1988)."""
_MOST_EXPLAINED = 1 - 1e-12
"""Largest explained share of variance, to keep the likelihood ratio finite."""


def segment(values: Array, penalty: float, shortest: int) -> list[int]:
    """Return the first run of each new level: the segmentation with the least squared error plus penalty.

    It comes from ruptures' KernelCPD with the linear kernel (PELT in C). With a shortest level its pruning is
    not exact: changes that cost more than they save are removed here.

    Args:
        values: [n].
        penalty: cost of each change, in units of the squared values.
        shortest: least number of runs of a level; a series with fewer than twice as many has no change.
    """
    if len(values) < 2 * shortest:
        return []
    found = [int(index) for index in _fitted(values, shortest).predict(pen=penalty)[:-1]]
    while found:
        edges = [0, *found, len(values)]
        saved = [
            _squares(values[start:end]) - _squares(values[start:at]) - _squares(values[at:end])
            for start, at, end in zip(edges, edges[1:], edges[2:], strict=False)
        ]
        weakest = int(np.argmin(saved))
        if saved[weakest] >= penalty:
            break
        del found[weakest]
    return found if _saved(values, found) >= penalty * len(found) else []


def strongest(values: Array, most: int, shortest: int) -> float:
    """Return the least penalty at which `segment` finds no change, for up to `most` changes.

    Args:
        values: [n], n at least (most + 1) times `shortest`.
        most: largest number of changes.
        shortest: least number of runs of a level.
    """
    model = _fitted(values, shortest)
    model.predict(n_bkps=most)  # also finds the best of each smaller number
    return max(_saved(values, model.predict(n_bkps=count)[:-1]) / count for count in range(1, most + 1))


def normal_scores(values: Array) -> Array:
    """Return the normal scores of values: normal quantiles at their ranks [n]."""
    return np.asarray(special.ndtri((stats.rankdata(values) - 0.5) / len(values)))


def by_rank(values: Array, at: int) -> float:
    """Return the rank evidence for a change at a place: twice the log likelihood ratio of normal scores."""
    scores = normal_scores(values)
    between = sum(float(side.sum()) ** 2 / len(side) for side in (scores[:at], scores[at:]))
    whole = float(scores @ scores)
    return -len(values) * math.log1p(-min(between / whole, _MOST_EXPLAINED)) if whole else 0.0


def places(values: Array, units: Array, shortest: int) -> Array:
    """Return the log likelihood of a change of level at each place [n], up to a constant.

    -infinity: a change cannot be there.

    Args:
        values: a stretch with one change [n], n at least twice `shortest`.
        units: standard deviation of each value [n].
        shortest: least number of runs of a level.
    """
    weights = units**-2.0
    weight, total = np.cumsum(weights)[:-1], np.cumsum((values - values.mean()) * weights)
    before, after = total[:-1] / weight, (total[-1] - total[:-1]) / (weights.sum() - weight)
    likelihood = np.full(len(values), -np.inf)
    likelihood[1:] = (after - before) ** 2 * weight * (weights.sum() - weight) / weights.sum() / 2
    likelihood[:shortest] = likelihood[len(values) - shortest + 1 :] = -np.inf
    return likelihood


def plausible(likelihood: Array) -> tuple[int, int]:
    """Return the first and the last place of the 95 % range of a change."""
    good = np.flatnonzero(likelihood >= likelihood.max() - _DROP)
    return int(good[0]), int(good[-1])


def _fitted(values: Array, shortest: int) -> Any:
    from ruptures import KernelCPD  # slow to import

    return KernelCPD(kernel="linear", min_size=shortest).fit((values - np.median(values))[:, None])


def _saved(values: Array, changes: list[int]) -> float:
    """Return by how much changes reduce the squared error."""
    edges = [0, *changes, len(values)]
    return _squares(values) - sum(_squares(values[start:end]) for start, end in pairwise(edges))


def _squares(values: Array) -> float:
    return float(((values - values.mean()) ** 2).sum())
