"""Seeded graphs: stand-ins with a published data set's counts, degree skew and homophily; R-MAT; molecules.

A seed gives the same bytes on any machine: randomness comes from `Stream`, edges from `matching`.
"""

import numpy as np

from . import attributes, matching
from .catalog import DatasetName
from .graph import Graph
from .stream import Ints, Stream

SEED = 20160328
"""A change changes all stand-ins and makes their baselines incomparable."""


def twin(name: DatasetName) -> Graph:
    """Make the synthetic stand-in of a data set: exactly `name.nodes` nodes and `2 * name.pairs` entries.

    Degrees follow Cora's distribution scaled to the mean, with a Pareto tail, so that larger graphs have
    larger hubs. Edges come from `matching`, some of them within a class, so that homophily is as published.

    With several types of nodes, those of the first have the classes and the split; the others have class 0
    and features without a class. Relations between the same types of nodes share out the edges at random, so
    that two nodes have one relation.
    """
    published = name.dataset
    stream = Stream(SEED)
    classes, sizes = published.classes, name.type_sizes
    first = dict(zip(sizes, np.cumsum([0, *sizes.values()]), strict=False))
    community = attributes.labels(stream, next(iter(sizes.values())), classes)
    sources, targets, types = [], [], []
    for (start, end), block in name.blocks.items():
        pairs = sum(block.values())
        if start == end:  # only the first type of nodes has edges within itself
            source, target = _edges(stream, community, pairs, classes, published.homophily)
        else:
            source, target = _edges_between(stream, sizes[start], sizes[end], pairs)
        source += first[start]
        target += first[end]
        sources.append(source)
        targets.append(target)
        if published.relations:
            types.append(np.repeat(list(block), list(block.values()))[stream.permutation(pairs)])
    label = np.zeros(name.nodes, dtype=np.int64)
    label[: len(community)] = community
    if published.words:
        x = attributes.bag_of_words(stream, label, classes, published.features, published.words)
        parts = attributes.balanced_split(stream, label, classes, name.split)
    else:
        x = attributes.dense(stream, label, classes, published.features)
        parts = attributes.split(stream, len(community), name.split)
    return Graph.build(
        name.id,
        _joined(sources),
        _joined(targets),
        x,
        attributes.tasks(stream, label, classes) if published.multi_label else label,
        classes,
        *parts,
        synthetic=True,
        edge_type=_joined(types) if types else None,
        relations=name.relations,
        type_sizes=sizes,
    )


def _joined(parts: list[Ints]) -> Ints:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)  # a copy may be large


def _edges(stream: Stream, label: Ints, pairs: int, classes: int, homophily: float) -> tuple[Ints, Ints]:
    """Return simple edges between nodes of one type, as `twin` says: two int64 [pairs]."""
    nodes = len(label)
    # A simple graph has no room for hubs far beyond sqrt(2 E) (Boguna et al. 2004).
    degrees = matching.citation_degrees(nodes, 2 * pairs, 2 * np.sqrt(2.0 * pairs))[stream.permutation(nodes)]
    sizes = np.bincount(label, weights=degrees, minlength=classes).astype(np.int64)
    by_chance = sum(int(size) ** 2 for size in sizes) / int(sizes.sum()) ** 2
    inside = max(0.0, (homophily - by_chance) / (1 - by_chance))
    return matching.match(stream, degrees, label, classes, inside)


def _edges_between(stream: Stream, nodes: int, others: int, pairs: int) -> tuple[Ints, Ints]:
    """Return simple edges between nodes of two types, with degrees as in `twin`: two int64 [pairs]."""
    degrees = [
        matching.citation_degrees(count, pairs, min(2 * np.sqrt(2.0 * pairs), room / 2))[
            stream.permutation(count)
        ]
        for count, room in ((nodes, others), (others, nodes))
    ]
    return matching.match_between(stream, *degrees)


RMAT_SEED = 20040422
# Quadrant probabilities .57, .19, .19, .05 (Chakrabarti et al., SDM 2004; graph500.org), times 2**32.
_LOWER_HALF = np.uint64(int(0.76 * 2**32))
_RIGHT_OF_UPPER = np.uint64(int(0.57 * 2**32))
_RIGHT_OF_LOWER = np.uint64(int(0.95 * 2**32))
UNIFORM_SEED = 20261128
HUB_SEED = 20261025
_HUB_SHARE = 10
"""One of so many edges leads to the hub."""


def rmat(name: DatasetName) -> Graph:
    """Draw `name.pairs` R-MAT edges among `name.nodes` nodes; loops and duplicates are dropped.

    As in Graph500, nodes are then renumbered at random: a node's number does not depend on its degree.
    """
    stream = Stream(RMAT_SEED)
    row = np.zeros(name.pairs, dtype=np.int64)
    column = np.zeros(name.pairs, dtype=np.int64)
    for _ in range(name.scale):
        drawn = stream.raw(name.pairs) >> np.uint64(32)
        lower = drawn >= _LOWER_HALF
        right = np.where(lower, drawn >= _RIGHT_OF_LOWER, drawn >= _RIGHT_OF_UPPER)
        row = 2 * row + lower
        column = 2 * column + right
    number = stream.permutation(name.nodes)
    return Graph.build(name.id, number[row], number[column], *attributes.made_up(name.nodes), synthetic=True)


def uniform(name: DatasetName) -> Graph:
    """Draw `name.pairs` edges among `name.nodes` nodes, all equally likely; loops and duplicates go."""
    stream = Stream(UNIFORM_SEED)
    source, target = stream.below(name.nodes, name.pairs), stream.below(name.nodes, name.pairs)
    return Graph.build(name.id, source, target, *attributes.made_up(name.nodes), synthetic=True)


def hub(name: DatasetName) -> Graph:
    """Make a simple graph with a hub, of exactly `name.nodes` nodes and `name.pairs` undirected edges.

    A kernel that gives each row to one thread waits for the hub's. The other degrees follow a power law with
    exponent 3. Nodes are numbered at random.
    """
    stream = Stream(HUB_SEED)
    number, others = stream.permutation(name.nodes), name.nodes - 1
    hub = number[0]
    neighbours = number[1:][stream.permutation(others)[: name.pairs // _HUB_SHARE]]
    degrees = matching.power_law_degrees(others, 2 * (name.pairs - len(neighbours)))
    one_class = np.zeros(others, dtype=np.int64)
    source, target = matching.match(stream, degrees, one_class, 1, 0.0)
    return Graph.build(
        name.id,
        np.concatenate((np.full(len(neighbours), hub), number[1:][source])),
        np.concatenate((neighbours, number[1:][target])),
        *attributes.made_up(name.nodes),
        synthetic=True,
    )


MOLECULES_SEED = 20261124
_FEWEST = 9
"""Atoms of the smallest molecule."""
_BRANCHES = 0.2
"""Probability that an atom is bound to the last but one, so that the last one ends a branch."""
_RING = 6
"""Atoms of a ring, or one fewer where there is a branch."""
_LARGEST_DEGREE = 3


def molecules(name: DatasetName) -> Graph:
    """Make `name.dataset.graphs` molecules with `name.nodes` atoms and `name.pairs` bonds, as one graph.

    In the 12,000 molecules of ZINC that Dwivedi et al. (JMLR 2023) benchmark with, a graph has 9 to 37 nodes,
    which are atoms without hydrogen, 23.16 on average (documentation of dgl.data.ZINCDataset), and 49.8
    entries (that of torch_geometric.datasets.ZINC).

    Each is a chain with branches of one atom and with rings, connected, of degree 1 to 3; its size is a sum
    of four uniform numbers, scaled. Its label says whether it has more rings than the median, and its atoms'
    features depend on that a little.
    """
    stream = Stream(MOLECULES_SEED)
    count = name.dataset.graphs
    sizes = _sizes(stream, count, name.nodes)
    last = np.cumsum(sizes)
    molecule = np.repeat(np.arange(count), sizes)
    atom = np.arange(name.nodes) - (last - sizes)[molecule]
    source, target = _bonds(stream, atom)
    rings = _rings(stream, atom, np.bincount(np.concatenate((source, target))), name.pairs - len(source))
    number = np.bincount(molecule[rings], minlength=count)
    label = (number > np.median(number)).astype(np.int64)
    parts = attributes.split(stream, count, name.split)
    return Graph.build(
        name.id,
        np.concatenate((source, rings - (_RING - 1))),
        np.concatenate((target, rings)),
        attributes.dense(stream, label[molecule], name.dataset.classes, name.dataset.features),
        label[molecule],
        name.dataset.classes,
        *(np.flatnonzero(np.isin(molecule, part)) for part in parts),
        synthetic=True,
        sizes=sizes,
    )


def _sizes(stream: Stream, count: int, nodes: int) -> Ints:
    """Return numbers of atoms, which add up to `nodes`: int64 [count]."""
    most = 28
    draws = stream.below(most + 1, 4 * count).reshape(count, 4).sum(axis=1)
    sizes = _FEWEST + draws * (nodes - _FEWEST * count) // (2 * most * count)
    missing = nodes - int(sizes.sum())
    sizes += missing // count
    sizes[stream.permutation(count)[: missing % count]] += 1
    return sizes


def _bonds(stream: Stream, atom: Ints) -> tuple[Ints, Ints]:
    """Return bonds of chains with branches; `atom` has each atom's position in its molecule: two int64."""
    branch = stream.chance(_BRANCHES, len(atom)) & (atom > 1)
    # The last one is not a branch itself: no atom gets more than two followers.
    branch[1:] &= ~branch[:-1]
    follower = np.flatnonzero(atom > 0)
    return follower - 1 - branch[follower], follower


def _rings(stream: Stream, atom: Ints, degree: Ints, count: int) -> Ints:
    """Return the last atoms of `count` rings, or of as many as fit: int64.

    A bond of the last atom with the fifth before it closes a ring. They are drawn at random; both have at
    most two bonds before. `degree` is changed in place.
    """
    candidates = np.flatnonzero(atom >= _RING - 1)
    ends: list[int] = []
    for end in candidates[stream.permutation(len(candidates))].tolist():
        start = end - (_RING - 1)
        if len(ends) < count and degree[start] < _LARGEST_DEGREE and degree[end] < _LARGEST_DEGREE:
            degree[[start, end]] += 1
            ends.append(end)
    return np.array(ends, dtype=np.int64)
