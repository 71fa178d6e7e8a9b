"""Synthetic labels, features and splits; a seed gives the same bytes on every machine."""

import numpy as np
from numpy.random import RandomState

from .catalog import ATTRIBUTES_CLASSES, ATTRIBUTES_WIDTH
from .graph import Floats, Ints

_ROWS_AT_ONCE = 1 << 16
_CENTRE_WEIGHT = 3 / 64
"""Weight of a class centre relative to noise: a node's features alone do not show its class."""


def labels(random: RandomState, nodes: int, classes: int) -> Ints:
    """Return classes with sizes proportional to 1/2, 1/3, 1/4, ..., roughly as in Cora: int64 [nodes]."""
    shares = np.cumsum(1 / np.arange(2, classes + 2))
    position = np.arange(nodes) / nodes * shares[-1]
    return random.permutation(np.searchsorted(shares, position, side="right"))


def features(random: RandomState, label: Ints, classes: int, width: int) -> Floats:
    """Return the centre of each node's class plus noise, with norms of rows about 1: float32 [N, width].

    Centres and noise are sums of four uniform bytes, of mean 510 and standard deviation 147.8, moved to mean
    0 and times a power of two.
    """
    scale = np.float32(2.0 ** -(7 + width.bit_length() // 2))
    centre = _nearly_normal(random, classes, width) * (scale * _CENTRE_WEIGHT)
    x = np.empty((len(label), width), dtype=np.float32)
    for start in range(0, len(label), _ROWS_AT_ONCE):
        part = label[start : start + _ROWS_AT_ONCE]
        noise = _nearly_normal(random, len(part), width) * scale
        np.add(noise, centre[part], out=x[start : start + len(part)])
    return x


def _nearly_normal(random: RandomState, rows: int, width: int) -> Floats:
    octets = np.frombuffer(random.bytes(4 * rows * width), dtype=np.uint8).reshape(4, rows, width)
    return octets.sum(axis=0, dtype=np.float32) - np.float32(510)


def split(random: RandomState, nodes: int, sizes: tuple[int, int, int]) -> list[Ints]:
    """Return a random split into nodes to train, validate and test on: int64 [sizes[i]] each."""
    return np.split(random.permutation(nodes), np.cumsum(sizes))[:3]


def of_nodes(nodes: int) -> tuple[Floats, Ints, int, Ints, Ints, Ints]:
    """Return synthetic attributes for a graph without attributes; they depend on its number of nodes only.

    They are features, float32 [nodes, 128]; labels, int64 [nodes], on which features depend and edges do not;
    the number of classes, 16; and the node numbers to train (60 %), validate (20 %) and test on.
    """
    random, part = RandomState(nodes), nodes // 5
    label = labels(random, nodes, ATTRIBUTES_CLASSES)
    x = features(random, label, ATTRIBUTES_CLASSES, ATTRIBUTES_WIDTH)
    train, val, test = split(random, nodes, (nodes - 2 * part, part, part))
    return x, label, ATTRIBUTES_CLASSES, train, val, test
