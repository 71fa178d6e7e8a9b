"""Seeded graphs: stand-ins with a published data set's counts and a skew of degrees; R-MAT; molecules.

A seed gives the same bytes on every machine with every NumPy, as its RandomState does not change any more.
"""

from itertools import accumulate, pairwise

import numpy as np
from numpy.random import RandomState

from . import attributes, matching
from .catalog import DatasetName
from .graph import Graph, Ints

SEED = 20160328
"""Another seed changes all graphs, so their baselines are no longer comparable."""


def twin(name: DatasetName) -> Graph:
    """Make the synthetic stand-in of a data set: exactly `name.nodes` nodes and `2 * name.pairs` entries.

    Degrees follow Cora's distribution scaled to the mean, with a Pareto tail, so that larger graphs have
    larger hubs. With several types of nodes, the first type has the classes and the split; nodes of others
    have class 0 and features without a class. Relations between the same types of nodes divide the edges
    at random, so two nodes have one relation.
    """
    dataset, random = name.dataset, RandomState(SEED)
    classes, sizes = dataset.classes, name.type_sizes
    bounds = pairwise(accumulate(sizes.values(), initial=0))
    nodes = {kind: range(*ends) for kind, ends in zip(sizes, bounds, strict=True)}
    labelled = next(iter(sizes.values()))
    label = np.zeros(name.nodes, dtype=np.int64)
    label[:labelled] = attributes.labels(random, labelled, classes)
    edges, types = [], []
    for (start, end), block in name.blocks.items():
        edges.append(_edges(random, sum(block.values()), nodes[start], nodes[end]))
        if dataset.relations:
            types.append(random.permutation(np.repeat(list(block), list(block.values()))))
    source, target = edges[0] if len(edges) == 1 else np.concatenate(edges, axis=1)  # a copy may be large
    return Graph.build(
        name.id,
        source,
        target,
        attributes.features(random, label, classes, dataset.features),
        attributes.tasks(random, label, classes) if dataset.multi_label else label,
        classes,
        *attributes.split(random, labelled, name.split),
        synthetic=True,
        edge_type=np.concatenate(types) if types else None,
        relations=name.relations,
        type_sizes=sizes,
    )


def _edges(random: RandomState, pairs: int, nodes: range, others: range) -> Ints:
    """Return simple edges from `nodes` to `others`, or within one type of nodes: int64 [2, pairs]."""

    def stubs(of: range, total: int, most: float) -> Ints:
        return matching.stubs(random, matching.citation_degrees(len(of), total, most)) + of.start

    # A simple graph has no room for hubs far beyond sqrt(2 E) (Boguna et al. 2004).
    largest = 2 * np.sqrt(2.0 * pairs)
    if nodes == others:
        ends = stubs(nodes, 2 * pairs, largest)
        return matching.simple(random, ends[::2], ends[1::2])
    sources = stubs(nodes, pairs, min(largest, len(others) / 2))
    edges = matching.simple(random, sources, stubs(others, pairs, min(largest, len(nodes) / 2)))
    return edges if nodes.start < others.start else edges[::-1]


def rmat(name: DatasetName) -> Graph:
    """Draw `name.pairs` R-MAT edges among `name.nodes` nodes; loops and duplicates are dropped.

    Probabilities of quadrants are .57, .19, .19, .05 (Chakrabarti et al., SDM 2004; graph500.org). As in
    Graph500, nodes are then renumbered at random: a node's number does not depend on its degree.
    """
    random = RandomState(SEED)
    ends = np.zeros((2, name.pairs), dtype=np.int64)
    for _ in range(name.scale):
        draws = random.random_sample(name.pairs)
        lower = draws >= 0.76  # noqa: PLR2004
        ends = 2 * ends + (lower, draws >= np.where(lower, 0.95, 0.57))
    return _drawn(name, *random.permutation(name.nodes)[ends])


def uniform(name: DatasetName) -> Graph:
    """Draw `name.pairs` uniformly random edges among `name.nodes` nodes; drop loops and duplicates."""
    return _drawn(name, *RandomState(SEED).randint(name.nodes, size=(2, name.pairs)))


_HUB_SHARE = 10
"""One in this many edges leads to the hub."""


def hub(name: DatasetName) -> Graph:
    """Make a simple graph with a hub, of exactly `name.nodes` nodes and `name.pairs` undirected edges.

    A kernel that gives each row to one thread waits for the hub's. The other degrees follow a power law with
    exponent 3. Nodes are numbered at random.
    """
    random, others = RandomState(SEED), name.nodes - 1
    neighbours = random.permutation(others)[: name.pairs // _HUB_SHARE]
    degrees = matching.power_law_degrees(others, 2 * (name.pairs - len(neighbours)))
    ends = matching.stubs(random, degrees)
    low, high = matching.simple(random, ends[::2], ends[1::2])
    edges = np.concatenate((low, neighbours)), np.concatenate((high, np.full(len(neighbours), others)))
    return _drawn(name, *random.permutation(name.nodes)[np.stack(edges)])


def _drawn(name: DatasetName, source: Ints, target: Ints) -> Graph:
    return Graph.build(name.id, source, target, *attributes.made_up(name.nodes), synthetic=True)


_FEWEST = 9
"""Atoms of the smallest molecule."""
_SPREAD = 28
"""Largest value of each of the four random numbers that a molecule's size is made of."""
_RING = 6
"""Atoms of a ring."""


def molecules(name: DatasetName) -> Graph:
    """Make `name.dataset.graphs` molecules with `name.nodes` atoms and `name.pairs` bonds, as one graph.

    In the 12,000 molecules of ZINC that Dwivedi et al. (JMLR 2023) benchmark with, a graph has 9 to 37 nodes
    (atoms without hydrogen), 23.16 on average (documentation of dgl.data.ZINCDataset), and 49.8 entries
    (documentation of torch_geometric.datasets.ZINC).

    A molecule is a chain, in which a bond between each sixth atom and the fifth before it may close a ring.
    The size is a scaled sum of four uniform random numbers. The label says whether a molecule has more rings
    than the median; its atoms' features depend a little on the label.
    """
    random, count = RandomState(SEED), name.dataset.graphs
    sizes = _sizes(random, count, name.nodes)
    last = np.cumsum(sizes)
    molecule = np.repeat(np.arange(count), sizes)
    atom = np.arange(name.nodes) - (last - sizes)[molecule]
    follower = np.flatnonzero(atom)
    rings = random.permutation(np.flatnonzero(atom % _RING == _RING - 1))[: name.pairs - len(follower)]
    number = np.bincount(molecule[rings], minlength=count)
    label = (number > np.median(number)).astype(np.int64)[molecule]
    parts = attributes.split(random, count, name.split)
    return Graph.build(
        name.id,
        np.concatenate((follower - 1, rings - (_RING - 1))),
        np.concatenate((follower, rings)),
        attributes.features(random, label, name.dataset.classes, name.dataset.features),
        label,
        name.dataset.classes,
        *(np.flatnonzero(np.isin(molecule, part)) for part in parts),
        synthetic=True,
        sizes=sizes,
    )


def _sizes(random: RandomState, count: int, nodes: int) -> Ints:
    """Return each molecule's number of atoms; their sum is `nodes`: int64 [count]."""
    draws = random.randint(_SPREAD + 1, size=(count, 4)).sum(axis=1)
    sizes = _FEWEST + draws * (nodes - _FEWEST * count) // (2 * _SPREAD * count)
    missing = nodes - int(sizes.sum())
    sizes += missing // count
    sizes[random.permutation(count)[: missing % count]] += 1
    return sizes
