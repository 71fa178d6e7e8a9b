"""Seeded molecules: many small graphs with the sizes and degrees of drug-like molecules, as one graph.

In the 12,000 molecules of ZINC that Dwivedi et al. (JMLR 2023) benchmark with, a graph has 9 to 37 nodes,
which are atoms without hydrogen, 23.16 on average (documentation of dgl.data.ZINCDataset), and 49.8 entries
(that of torch_geometric.datasets.ZINC).
"""

import numpy as np

from . import attributes
from .catalog import DatasetName
from .graph import Graph
from .stream import Ints, Stream

SEED = 20261124
_FEWEST = 9
"""Atoms of the smallest molecule."""
_BRANCHES = 0.2
"""Probability that an atom is bound to the last but one, so that the last one ends a branch."""
_RING = 6
"""Atoms of a ring, or one fewer where there is a branch."""
_LARGEST_DEGREE = 3


def generate(name: DatasetName) -> Graph:
    """Make `name.dataset.graphs` molecules with `name.nodes` atoms and `name.pairs` bonds altogether.

    Each is a chain with branches of one atom and with rings, connected, of degree 1 to 3; its size is a sum
    of four uniform numbers, scaled. Its label says whether it has more rings than the median, and its atoms'
    features depend on that a little.
    """
    stream = Stream(SEED)
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
