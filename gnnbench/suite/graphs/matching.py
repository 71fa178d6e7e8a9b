"""Random simple edges with given degrees: the configuration model (Molloy and Reed, 1995).

Arithmetic is on integers or single IEEE operations, and sort keys are unique, so that a seed gives the same
edges on any machine.
"""

import numpy as np
from numpy.typing import NDArray

from .stream import Ints, Stream

# Quantiles of Cora's degrees: (thousandths of the nodes, degree in hundredths).
_CORA_DEGREES = (
    *((0, 100), (90, 100), (287, 200), (497, 300), (670, 400), (794, 500), (870, 600), (910, 700)),
    *((935, 800), (951, 900), (960, 1000), (967, 1100), (974, 1200), (982, 1450), (990, 1900)),
)
_CORA_MEAN = 390
_FINE = 1000
"""Weights are Cora's degrees in hundredths times this, for fine interpolation in integers."""
_BILLION = 1_000_000_000
_ROUNDS = 8


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


def match(stream: Stream, degrees: Ints, label: Ints, classes: int, inside: float) -> tuple[Ints, Ints]:
    """Pair stubs into simple edges, a part `inside` of them within a class: two int64 [sum(degrees) / 2]."""
    nodes = len(degrees)
    stubs = np.repeat(np.arange(nodes), degrees)
    wanted = len(stubs) // 2
    edges = np.empty(0, dtype=np.int64)
    for _ in range(_ROUNDS):
        group = np.where(stream.chance(inside, len(stubs)), label[stubs], classes)
        stubs = stubs[stream.shuffled_groups(group, classes + 1)]
        edges, rejected = _accept(edges, _keys(stubs[0::2], stubs[1::2], nodes), nodes)
        stubs = np.concatenate((rejected // nodes, rejected % nodes))
        if not len(stubs):
            break
    while len(edges) < wanted:
        # Replace stubs that could not be matched, mostly between hubs, by random edges.
        missing = wanted - len(edges)
        edges, _ = _accept(
            edges, _keys(stream.below(nodes, missing), stream.below(nodes, missing), nodes), nodes
        )
    return edges // nodes, edges % nodes


def match_between(stream: Stream, degrees: Ints, others: Ints) -> tuple[Ints, Ints]:
    """Pair the stubs of two types of nodes, each numbered from 0, into simple edges: two int64 [M]."""
    nodes = len(others)
    stubs, partners = np.repeat(np.arange(len(degrees)), degrees), np.repeat(np.arange(nodes), others)
    wanted = len(stubs)
    edges = np.empty(0, dtype=np.int64)
    for _ in range(_ROUNDS):
        edges, rejected = _accept(edges, stubs[stream.permutation(len(stubs))] * nodes + partners)
        stubs, partners = rejected // nodes, rejected % nodes
        if not len(rejected):
            break
    while len(edges) < wanted:
        missing = wanted - len(edges)
        keys = stream.below(len(degrees), missing) * nodes + stream.below(nodes, missing)
        edges, _ = _accept(edges, keys)
    return edges // nodes, edges % nodes


def _keys(source: Ints, target: Ints, nodes: int) -> Ints:
    return np.minimum(source, target) * nodes + np.maximum(source, target)


def _accept(edges: Ints, proposed: Ints, nodes: int | None = None) -> tuple[Ints, Ints]:
    """Add proposed keys that are new; return all edges, sorted, and the rejected keys.

    With `nodes`, both ends are of one type, and loops are rejected.
    """
    proposed = np.sort(proposed)
    refused = np.zeros(len(proposed), dtype=np.bool_)
    if nodes is not None:
        refused |= proposed // nodes == proposed % nodes
    refused[1:] |= proposed[1:] == proposed[:-1]
    if len(edges):
        at = np.searchsorted(edges, proposed)
        refused |= edges[np.minimum(at, len(edges) - 1)] == proposed
    return np.sort(np.concatenate((edges, proposed[~refused]))), proposed[refused]
