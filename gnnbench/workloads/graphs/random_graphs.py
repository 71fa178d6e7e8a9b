"""Random graphs with hubs: R-MAT graphs with the parameters of Graph500, and graphs with one hub."""

import numpy as np

from . import attributes, matching
from .catalog import DatasetName
from .graph import Graph
from .stream import Stream

RMAT_SEED = 20040422
# Quadrant probabilities .57, .19, .19, .05 (Chakrabarti et al., SDM 2004; graph500.org), times 2**32.
_LOWER_HALF = np.uint64(int(0.76 * 2**32))
_RIGHT_OF_UPPER = np.uint64(int(0.57 * 2**32))
_RIGHT_OF_LOWER = np.uint64(int(0.95 * 2**32))
HUB_SEED = 20261025
_HUB_SHARE = 10
"""One of so many edges leads to the hub."""


def rmat(name: DatasetName, seed: int = RMAT_SEED) -> Graph:
    """Draw `name.pairs` R-MAT edges among `name.nodes` nodes; loops and duplicates are dropped.

    As in Graph500, nodes are then renumbered at random, so that a node's number does not depend on its
    degree. Features, labels and split come from `attributes.made_up`.
    """
    stream = Stream(seed)
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


def hub(name: DatasetName, seed: int = HUB_SEED) -> Graph:
    """Make a simple graph with a hub, of exactly `name.nodes` nodes and `name.pairs` undirected edges.

    A kernel that gives each row to one thread waits for the hub's. The other degrees follow a power law with
    exponent 3. Nodes are numbered at random. Features, labels and split come from `attributes.made_up`.
    """
    stream = Stream(seed)
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
