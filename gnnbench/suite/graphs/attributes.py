"""Synthetic labels, features and splits; a seed gives the same bytes on any machine."""

from itertools import pairwise

import numpy as np

from .catalog import ATTRIBUTES_CLASSES, ATTRIBUTES_WIDTH
from .stream import Floats, Ints, Stream

_ROWS_AT_ONCE = 1 << 16
_BYTES = np.uint64(0x00FF00FF00FF00FF)
_WORDS = np.uint64(0x0000FFFF0000FFFF)
_LOW = np.uint64(0xFFFFFFFF)
_CENTRE_WEIGHT = 3 / 64
"""Weight of a class centre against noise in dense features: classes can be learned, but not from one node."""
_TOPICAL = 0.23
"""Fraction of a node's words from its class's own part of the vocabulary."""
_FLIPPED = 0.1
"""Fraction of a node's tasks (multi-label) whose label differs from its community's."""


def labels(stream: Stream, nodes: int, classes: int) -> Ints:
    """Return classes with sizes proportional to 1/2, 1/3, 1/4, ..., roughly as in Cora: int64 [nodes]."""
    shares = np.cumsum([(1 << 32) // (rank + 2) for rank in range(classes)])
    position = np.arange(nodes, dtype=np.int64) * int(shares[-1]) // nodes
    return np.searchsorted(shares, position, side="right")[stream.permutation(nodes)]


def tasks(stream: Stream, community: Ints, count: int) -> Floats:
    """Return 0 or 1 for each node and task, mostly equal within a community: float32 [N, count]."""
    communities = int(community.max()) + 1
    typical = stream.chance(0.5, communities * count).reshape(communities, count)
    flipped = stream.chance(_FLIPPED, len(community) * count).reshape(-1, count)
    return (typical[community] ^ flipped).astype(np.float32)


def bag_of_words(stream: Stream, label: Ints, classes: int, vocabulary: int, words: int) -> Floats:
    """Return rows that sum to 1, with equal weights for a node's words: float32 [N, vocabulary].

    `words` are drawn per node, and duplicates count once. A word comes from the class's own part of the
    vocabulary, or from all of it, where the density of a number is proportional to 1 / sqrt(number).
    """
    count = len(label) * words
    node = np.repeat(np.arange(len(label)), words)
    stretch = vocabulary // classes
    topical = label[node] * stretch + stream.below(stretch, count)
    spot = stream.below(1 << 16, count)
    common = (spot * spot * vocabulary) >> 32
    word = np.where(stream.chance(_TOPICAL, count), topical, common)
    x = np.zeros((len(label), vocabulary), dtype=np.float32)
    x[node, word] = 1
    # Counted as integers: the order of a float sum, and so its rounding, depends on the machine.
    weight = np.float32(1) / np.count_nonzero(x, axis=1).astype(np.float32)
    x[node, word] = weight[node]
    return x


def dense(stream: Stream, label: Ints, classes: int, width: int) -> Floats:
    """Return a centre per class plus noise, with mean 0 and standard deviation about 1: float32 [N, width].

    Both are sums of four uniform bytes: integers times a power of two.
    """
    centre = _bells(stream, classes, width) * np.float32(_CENTRE_WEIGHT)
    x = np.empty((len(label), width), dtype=np.float32)
    for start in range(0, len(label), _ROWS_AT_ONCE):
        part = label[start : start + _ROWS_AT_ONCE]
        np.add(_bells(stream, len(part), width), centre[part], out=x[start : start + len(part)])
    return x


def _bells(stream: Stream, rows: int, width: int) -> Floats:
    """Approximately normal numbers, two from each 64 random bits: float32 [rows, width]."""
    half = (width + 1) // 2
    bits = stream.raw(rows * half).reshape(rows, half)
    sums = (bits & _BYTES) + ((bits >> np.uint64(8)) & _BYTES)
    sums = (sums & _WORDS) + ((sums >> np.uint64(16)) & _WORDS)
    x = np.empty((rows, 2 * half), dtype=np.float32)
    x[:, :half] = sums & _LOW
    x[:, half:] = sums >> np.uint64(32)
    # Four bytes: mean 510, standard deviation 147.8.
    x -= np.float32(510)
    x *= np.float32(2**-7)
    return x[:, :width]


def split(stream: Stream, nodes: int, sizes: tuple[int, int, int]) -> list[Ints]:
    """Return a random split into nodes to train, validate and test on: int64 [sizes[i]] each."""
    order = stream.permutation(nodes)
    return [order[start:end] for start, end in pairwise((0, *np.cumsum(sizes)))]


def balanced_split(stream: Stream, label: Ints, classes: int, sizes: tuple[int, int, int]) -> list[Ints]:
    """Return a split with equally many training nodes per class, as Planetoid's "public" one.

    Each class gets `sizes[0] // classes` training nodes, or all that it has.
    """
    by_class = stream.shuffled_groups(label, classes)
    per_class = np.bincount(label, minlength=classes)
    rank = np.arange(len(label)) - np.repeat(np.cumsum(per_class) - per_class, per_class)
    chosen = rank < sizes[0] // classes
    rest = by_class[~chosen]
    val, test, _ = np.split(rest[stream.permutation(len(rest))], [sizes[1], sizes[1] + sizes[2]])
    return [by_class[chosen], val, test]


def made_up(nodes: int) -> tuple[Floats, Ints, int, Ints, Ints, Ints]:
    """Return synthetic attributes for a graph without any; they depend on the number of nodes only.

    They are features, float32 [nodes, 128]; labels, int64 [nodes], which depend on the features but not on
    the edges; the number of classes, 16; node numbers to train (60 %), validate (20 %) and test on.
    """
    stream = Stream(nodes)
    label = labels(stream, nodes, ATTRIBUTES_CLASSES)
    x = dense(stream, label, ATTRIBUTES_CLASSES, ATTRIBUTES_WIDTH)
    part = nodes // 5
    train, val, test = split(stream, nodes, (nodes - 2 * part, part, part))
    return x, label, ATTRIBUTES_CLASSES, train, val, test
