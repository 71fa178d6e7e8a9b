"""Synthetic stand-ins: seeded graphs with a published data set's counts, degree skew and homophily.

A seed gives the same bytes on any machine: randomness comes from `Stream`, arithmetic is on integers or
single IEEE operations, and sort keys are unique.
"""

import numpy as np
from numpy.typing import NDArray

from . import attributes
from .catalog import DatasetName
from .graph import Graph
from .stream import Stream

SEED = 20160328
"""A change changes all stand-ins and makes their baselines incomparable."""

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


def twin(name: DatasetName, seed: int = SEED) -> Graph:
    """Make the synthetic stand-in of a data set: exactly `name.nodes` nodes and `2 * name.pairs` entries.

    Features and classes are as published; nodes, edges and split sizes are the published ones times the
    fraction. Degrees follow Cora's distribution scaled to the mean, with a Pareto tail, so that larger
    graphs have larger hubs. Edges come from matching stubs (the configuration model, Molloy & Reed 1995),
    some of them within a class, so that homophily is as published. Features and labels come from
    `attributes`.
    """
    published = name.published
    assert published is not None
    stream = Stream(seed)
    classes = published.classes
    community = attributes.labels(stream, name.nodes, classes)
    degrees = _degrees(name.nodes, name.pairs)[stream.permutation(name.nodes)]
    source, target = _match(stream, degrees, community, classes, published.homophily)
    if published.words:
        x = attributes.bag_of_words(stream, community, classes, published.features, published.words)
        parts = attributes.balanced_split(stream, community, classes, name.split)
    else:
        x = attributes.dense(stream, community, classes, published.features)
        parts = attributes.split(stream, name.nodes, name.split)
    y = attributes.tasks(stream, community, classes) if published.multi_label else community
    return Graph.build(name.id, source, target, x, y, classes, *parts, synthetic=True)


def _degrees(nodes: int, pairs: int) -> NDArray[np.int64]:
    """Return ascending degrees that sum to 2 * pairs: int64 [nodes]."""
    below, degree = np.array(_CORA_DEGREES).T * np.array([[_BILLION // 1000], [_FINE]])
    stand = (2 * np.arange(nodes, dtype=np.int64) + 1) * (_BILLION // 2) // nodes
    knot = np.clip(np.searchsorted(below, stand, side="right"), 1, len(below) - 1)
    rise, run = degree[knot] - degree[knot - 1], below[knot] - below[knot - 1]
    weight = (degree[knot - 1] + rise * (stand - below[knot - 1]) // run).astype(np.float64)
    # Pareto with exponent 2 above the last knot: the degree grows as 1 / sqrt(share of nodes above).
    tail = stand >= below[-1]
    weight[tail] = degree[-1] * np.sqrt((_BILLION - below[-1]) / (_BILLION - stand[tail]))
    # A simple graph has no room for hubs far beyond sqrt(2 E) (Boguna et al. 2004).
    mean = 2 * pairs / nodes
    weight = np.minimum(weight, 2 * np.sqrt(2.0 * pairs) / mean * (_CORA_MEAN * _FINE))
    # Rounding the running sum, not each degree, keeps the total exact. Weights become integers first,
    # because integer sums do not depend on the order.
    running = np.cumsum(weight.astype(np.int64)).astype(np.float64)
    upto: NDArray[np.int64] = (running * (2 * pairs / running[-1])).astype(np.int64)
    upto[-1] = 2 * pairs
    return np.diff(upto, prepend=0)


def _match(
    stream: Stream, degrees: NDArray[np.int64], label: NDArray[np.int64], classes: int, homophily: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair stubs into simple edges: two int64 [sum(degrees) / 2]."""
    nodes = len(degrees)
    stubs = np.repeat(np.arange(nodes), degrees)
    wanted = len(stubs) // 2
    sizes = np.bincount(label, weights=degrees, minlength=classes).astype(np.int64)
    by_chance = sum(int(size) ** 2 for size in sizes) / int(sizes.sum()) ** 2
    inside = max(0.0, (homophily - by_chance) / (1 - by_chance))
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


def _keys(one: NDArray[np.int64], other: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    return np.minimum(one, other) * nodes + np.maximum(one, other)


def _accept(
    edges: NDArray[np.int64], proposed: NDArray[np.int64], nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Add proposed keys that are new and no loops; return all edges, sorted, and the rejected keys."""
    proposed = np.sort(proposed)
    refused = proposed // nodes == proposed % nodes
    refused[1:] |= proposed[1:] == proposed[:-1]
    if len(edges):
        at = np.searchsorted(edges, proposed)
        refused |= edges[np.minimum(at, len(edges) - 1)] == proposed
    return np.sort(np.concatenate((edges, proposed[~refused]))), proposed[refused]
