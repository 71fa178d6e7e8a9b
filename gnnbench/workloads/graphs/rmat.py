"""R-MAT random graphs with the parameters of the Graph500 benchmark."""

import numpy as np

from . import attributes
from .catalog import DatasetName
from .graph import Graph
from .stream import Stream

SEED = 20040422
# Quadrant probabilities .57, .19, .19, .05 (Chakrabarti et al., SDM 2004; graph500.org), times 2**32.
_LOWER_HALF = np.uint64(int(0.76 * 2**32))
_RIGHT_OF_UPPER = np.uint64(int(0.57 * 2**32))
_RIGHT_OF_LOWER = np.uint64(int(0.95 * 2**32))


def generate(name: DatasetName, seed: int = SEED) -> Graph:
    """Draw `name.pairs` edges among `name.nodes` nodes; loops and duplicates are dropped.

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
