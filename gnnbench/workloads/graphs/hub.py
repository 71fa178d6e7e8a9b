"""Random graphs with power-law degrees and one hub, to which a tenth of the edges lead."""

import numpy as np

from . import attributes, matching
from .catalog import DatasetName
from .graph import Graph
from .stream import Stream

SEED = 20261025
_SHARE = 10
"""One of so many edges leads to the hub."""


def generate(name: DatasetName, seed: int = SEED) -> Graph:
    """Make a simple graph with exactly `name.nodes` nodes and `name.pairs` undirected edges.

    A kernel that gives each row to one thread waits for the hub's. The other degrees follow a power law with
    exponent 3. Nodes are numbered at random. Features, labels and split come from `attributes.made_up`.
    """
    stream = Stream(seed)
    number, others = stream.permutation(name.nodes), name.nodes - 1
    hub = number[0]
    neighbours = number[1:][stream.permutation(others)[: name.pairs // _SHARE]]
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
