"""Degrees, and random simple edges with them: the configuration model (Molloy and Reed, 1995).

Arithmetic uses integers or single IEEE operations, so a seed gives the same edges on every machine.
"""

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from .graph import Ints

# Quantiles of Cora's degrees: (thousandths of the nodes, degree in hundredths).
_CORA_DEGREES = (
    *((0, 100), (90, 100), (287, 200), (497, 300), (670, 400), (794, 500), (870, 600), (910, 700)),
    *((935, 800), (951, 900), (960, 1000), (967, 1100), (974, 1200), (982, 1450), (990, 1900)),
)
_CORA_MEAN = 390
_FINE = 1000
"""Factor of Cora's degrees in hundredths: makes interpolation in integers finer."""
_BILLION = 1_000_000_000


def citation_degrees(nodes: int, total: int, largest: float) -> Ints:
    """Return ascending degrees like Cora's, scaled to the mean, with a Pareto tail up to about `largest`."""
    below, degree = np.array(_CORA_DEGREES).T * np.array([[_BILLION // 1000], [_FINE]])
    stand = (2 * np.arange(nodes, dtype=np.int64) + 1) * (_BILLION // 2) // nodes
    knot = np.clip(np.searchsorted(below, stand, side="right"), 1, len(below) - 1)
    rise, run = degree[knot] - degree[knot - 1], below[knot] - below[knot - 1]
    weight = (degree[knot - 1] + rise * (stand - below[knot - 1]) // run).astype(np.float64)
    # Pareto with exponent 2 above the last knot: the degree grows as 1 / sqrt(share of nodes above).
    tail = stand >= below[-1]
    weight[tail] = degree[-1] * np.sqrt((_BILLION - below[-1]) / (_BILLION - stand[tail]))
    mean = total / nodes
    return _rounded(np.minimum(weight, largest / mean * (_CORA_MEAN * _FINE)), total)


def power_law_degrees(nodes: int, total: int) -> Ints:
    """Return descending degrees with a sum of `total`, of which 1 / k**2 are larger than k: int64 [nodes].

    The k-th largest is proportional to 1 / sqrt(k), as in Barabasi and Albert's graphs (Science 1999).
    """
    return _rounded(_BILLION / np.sqrt(np.arange(1, nodes + 1, dtype=np.float64)), total)


def _rounded(weight: NDArray[np.float64], total: int) -> Ints:
    """Return integers proportional to the weights, with a sum of `total`."""
    # Rounding the running sum, not each degree, keeps the total exact. Weights become integers first,
    # because integer sums do not depend on the order.
    running = np.cumsum(weight.astype(np.int64)).astype(np.float64)
    upto: Ints = (running * (total / running[-1])).astype(np.int64)
    upto[-1] = total
    return np.diff(upto, prepend=0)


def stubs(random: RandomState, degrees: Ints) -> Ints:
    """Return each node as many times as its degree, in random order: int64 [sum(degrees)]."""
    return random.permutation(np.repeat(random.permutation(len(degrees)), degrees))


def simple(random: RandomState, source: Ints, target: Ints) -> Ints:
    """Return as many simple edges as there are pairs, sorted by their lower end: int64 [2, M].

    A random pair from the same ranges of nodes replaces each loop and each duplicate.
    """
    count, nodes = len(source), int(max(source.max(), target.max())) + 1
    bounds = [(ends.min(), ends.max() + 1) for ends in (source, target)]
    keys = np.empty(0, dtype=np.int64)
    while True:
        low, high = np.minimum(source, target), np.maximum(source, target)
        keys = np.concatenate((keys, (low * nodes + high)[low < high]))
        keys.sort()
        keys = keys[np.diff(keys, prepend=-1) > 0]
        if len(keys) == count:
            return np.stack(np.divmod(keys, nodes))
        source, target = (random.randint(*ends, size=count - len(keys)) for ends in bounds)
