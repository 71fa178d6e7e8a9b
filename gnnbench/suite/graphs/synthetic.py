"""Seeded random graphs: stand-ins for published data sets, R-MAT and uniform graphs, hubs, and molecules.

A seed gives the same bytes on every machine with every version of NumPy, because RandomState is frozen, and
arithmetic uses integers or single IEEE operations.
"""

from itertools import accumulate, pairwise

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from .catalog import ATTRIBUTES_CLASSES, ATTRIBUTES_WIDTH, DatasetName
from .graph import Floats, Graph, Ints

SEED = 20160328
"""Another seed would change all graphs, so earlier baselines would not apply to them."""

_ROWS_AT_ONCE = 1 << 16
_CENTRE_WEIGHT = 3 / 64
"""Weight of a class centre relative to the noise: so small that a node's features do not reveal its class."""

# Quantiles of Cora's degrees: (thousandths of the nodes, degree in hundredths).
_CORA_DEGREES = (
    *((0, 100), (90, 100), (287, 200), (497, 300), (670, 400), (794, 500), (870, 600), (910, 700)),
    *((935, 800), (951, 900), (960, 1000), (967, 1100), (974, 1200), (982, 1450), (990, 1900)),
)
_CORA_MEAN = 390
_FINE = 1000
"""Multiplies Cora's degrees in hundredths, so that interpolation in integers is finer."""
_BILLION = 1_000_000_000


def stand_in(name: DatasetName) -> Graph:
    """Make the synthetic stand-in of a data set: exactly `name.nodes` nodes and `2 * name.pairs` entries.

    Degrees follow Cora's distribution, scaled to the data set's mean, with a Pareto tail, so that larger
    graphs have larger hubs. If there are several types of nodes, the first type has the classes and the
    split; all other nodes have class 0. Relations between the same two types of nodes divide the edges
    between these types at random, so two nodes have at most one relation.
    """
    dataset, random = name.dataset, RandomState(SEED)
    classes, sizes = dataset.classes, name.type_sizes
    bounds = pairwise(accumulate(sizes.values(), initial=0))
    nodes = {kind: range(*ends) for kind, ends in zip(sizes, bounds, strict=True)}
    labelled = next(iter(sizes.values()))
    label = np.zeros(name.nodes, dtype=np.int64)
    label[:labelled] = _labels(random, labelled, classes)
    edges, types = [], []
    for (source_type, target_type), block in name.blocks.items():
        edges.append(_edges(random, sum(block.values()), nodes[source_type], nodes[target_type]))
        if dataset.relations:
            types.append(random.permutation(np.repeat(list(block), list(block.values()))))
    source, target = edges[0] if len(edges) == 1 else np.concatenate(edges, axis=1)  # one is not copied
    return Graph.build(
        name.id,
        source,
        target,
        _features(random, label, classes, dataset.features),
        label,
        classes,
        *_split(random, labelled, name.split),
        synthetic=True,
        edge_type=np.concatenate(types) if types else None,
        relations=name.relations,
        type_sizes=sizes,
    )


def _edges(random: RandomState, pairs: int, nodes: range, others: range) -> Ints:
    """Return distinct edges without loops, from `nodes` to `others` or within `nodes`: int64 [2, pairs]."""

    def ends_of(numbers: range, total: int, largest: float) -> Ints:
        return _stubs(random, _citation_degrees(len(numbers), total, largest)) + numbers.start

    # A simple graph has no room for hubs far beyond sqrt(2 E) (Boguna et al. 2004).
    largest = 2 * np.sqrt(2.0 * pairs)
    if nodes == others:
        ends = ends_of(nodes, 2 * pairs, largest)
        return _simple(random, ends[::2], ends[1::2])
    sources = ends_of(nodes, pairs, min(largest, len(others) / 2))
    edges = _simple(random, sources, ends_of(others, pairs, min(largest, len(nodes) / 2)))
    return edges if nodes.start < others.start else edges[::-1]


def rmat(name: DatasetName) -> Graph:
    """Draw `name.pairs` R-MAT edges among `name.nodes` nodes; loops and duplicates are dropped.

    The quadrants have probabilities .57, .19, .19 and .05 (Chakrabarti et al., SDM 2004; graph500.org). As in
    Graph500, nodes are then renumbered at random, so that a node's index does not depend on its degree.
    """
    random = RandomState(SEED)
    ends = np.zeros((2, name.pairs), dtype=np.int64)
    for _ in range(name.scale):
        draws = random.random_sample(name.pairs)
        lower = draws >= 0.76  # noqa: PLR2004
        ends = 2 * ends + (lower, draws >= np.where(lower, 0.95, 0.57))
    return _with_attributes(name, *random.permutation(name.nodes)[ends])


def uniform(name: DatasetName) -> Graph:
    """Draw `name.pairs` uniformly random edges among `name.nodes` nodes; drop loops and duplicates."""
    return _with_attributes(name, *RandomState(SEED).randint(name.nodes, size=(2, name.pairs)))


_HUB_SHARE = 10
"""One in this many edges leads to the hub."""


def hub(name: DatasetName) -> Graph:
    """Make a simple graph with a hub, exactly `name.nodes` nodes and `name.pairs` undirected edges.

    A kernel with one thread per row waits for the hub's row. The other degrees follow a power law with
    exponent 3. Nodes are numbered at random.
    """
    random, others = RandomState(SEED), name.nodes - 1
    neighbours = random.permutation(others)[: name.pairs // _HUB_SHARE]
    degrees = _power_law_degrees(others, 2 * (name.pairs - len(neighbours)))
    ends = _stubs(random, degrees)
    low, high = _simple(random, ends[::2], ends[1::2])
    edges = np.concatenate((low, neighbours)), np.concatenate((high, np.full(len(neighbours), others)))
    return _with_attributes(name, *random.permutation(name.nodes)[np.stack(edges)])


def _with_attributes(name: DatasetName, source: Ints, target: Ints) -> Graph:
    return Graph.build(name.id, source, target, *attributes(name.nodes), synthetic=True)


_FEWEST = 9
"""Atoms of the smallest molecule."""
_SPREAD = 28
"""A molecule's size is a scaled sum of four random numbers from 0 to this."""
_RING = 6
"""Atoms of a ring."""


def molecules(name: DatasetName) -> Graph:
    """Make `name.dataset.graphs` molecules with `name.nodes` atoms and `name.pairs` bonds, as one graph.

    In the 12,000 ZINC molecules of the benchmark by Dwivedi et al. (JMLR 2023), a graph has 9 to 37 nodes
    (atoms without hydrogen), on average 23.16 nodes (documentation of dgl.data.ZINCDataset) and 49.8 entries
    (documentation of torch_geometric.datasets.ZINC).

    A molecule is a chain of atoms. At each sixth atom, a bond to the atom five before it may close a ring.
    The size is a scaled sum of four uniform random numbers. The label says whether the molecule has more
    rings than the median; the features of its atoms depend a little on the label.
    """
    random, count = RandomState(SEED), name.dataset.graphs
    sizes = _sizes(random, count, name.nodes)
    ends = np.cumsum(sizes)
    molecule = np.repeat(np.arange(count), sizes)
    position = np.arange(name.nodes) - (ends - sizes)[molecule]
    followers = np.flatnonzero(position)
    closing = random.permutation(np.flatnonzero(position % _RING == _RING - 1))[: name.pairs - len(followers)]
    ring_counts = np.bincount(molecule[closing], minlength=count)
    label = (ring_counts > np.median(ring_counts)).astype(np.int64)[molecule]
    parts = _split(random, count, name.split)
    return Graph.build(
        name.id,
        np.concatenate((followers - 1, closing - (_RING - 1))),
        np.concatenate((followers, closing)),
        _features(random, label, name.dataset.classes, name.dataset.features),
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


def _citation_degrees(nodes: int, total: int, largest: float) -> Ints:
    """Return ascending degrees with a sum of `total`, distributed like Cora's: int64 [nodes].

    Above Cora's 99th percentile they have a Pareto tail up to about `largest`.
    """
    below, degree = np.array(_CORA_DEGREES).T * np.array([[_BILLION // 1000], [_FINE]])
    quantile = (2 * np.arange(nodes, dtype=np.int64) + 1) * (_BILLION // 2) // nodes
    knot = np.clip(np.searchsorted(below, quantile, side="right"), 1, len(below) - 1)
    rise, run = degree[knot] - degree[knot - 1], below[knot] - below[knot - 1]
    weight = (degree[knot - 1] + rise * (quantile - below[knot - 1]) // run).astype(np.float64)
    # Pareto with exponent 2 above the last knot: the degree grows as 1 / sqrt(share of nodes above).
    tail = quantile >= below[-1]
    weight[tail] = degree[-1] * np.sqrt((_BILLION - below[-1]) / (_BILLION - quantile[tail]))
    mean = total / nodes
    return _rounded(np.minimum(weight, largest / mean * (_CORA_MEAN * _FINE)), total)


def _power_law_degrees(nodes: int, total: int) -> Ints:
    """Return descending degrees with a sum of `total`: int64 [nodes].

    The k-th largest degree is proportional to 1 / sqrt(k), as in Barabasi and Albert's graphs (Science 1999).
    """
    return _rounded(_BILLION / np.sqrt(np.arange(1, nodes + 1, dtype=np.float64)), total)


def _rounded(weight: NDArray[np.float64], total: int) -> Ints:
    """Return integers proportional to the weights, with a sum of `total`."""
    # Rounding the running sum, not each degree, keeps the total exact. Weights become integers first,
    # because integer sums do not depend on the order.
    running = np.cumsum(weight.astype(np.int64)).astype(np.float64)
    bounds: Ints = (running * (total / running[-1])).astype(np.int64)
    bounds[-1] = total
    return np.diff(bounds, prepend=0)


def _stubs(random: RandomState, degrees: Ints) -> Ints:
    """Assign degrees to random nodes; repeat each node by its degree, and shuffle: int64 [sum(degrees)]."""
    return random.permutation(np.repeat(random.permutation(len(degrees)), degrees))


def _simple(random: RandomState, source: Ints, target: Ints) -> Ints:
    """Return as many distinct edges as pairs of ends, without loops, sorted by lower end: int64 [2, M].

    This is the configuration model (Molloy and Reed, 1995), except that each loop and each duplicate is
    replaced by a random pair from the same ranges of nodes.
    """
    count, nodes = len(source), int(max(source.max(), target.max())) + 1
    bounds = [(ends.min(), ends.max() + 1) for ends in (source, target)]
    keys = np.empty(0, dtype=np.int64)
    while True:
        low, high = np.minimum(source, target), np.maximum(source, target)
        keys = np.concatenate((keys, (low * nodes + high)[low < high]))
        keys.sort()
        keys = keys[np.diff(keys, prepend=-1) > 0]
        if len(keys) == count:
            return np.stack(np.divmod(keys, nodes))
        source, target = (random.randint(*ends, size=count - len(keys)) for ends in bounds)


def _labels(random: RandomState, nodes: int, classes: int) -> Ints:
    """Return classes with sizes proportional to 1/2, 1/3, 1/4, ..., roughly as in Cora: int64 [nodes]."""
    shares = np.cumsum(1 / np.arange(2, classes + 2))
    position = np.arange(nodes) / nodes * shares[-1]
    return random.permutation(np.searchsorted(shares, position, side="right"))


def _features(random: RandomState, label: Ints, classes: int, width: int) -> Floats:
    """Return the centre of each node's class plus noise, with row norms of about 1: float32 [N, width].

    Centres and noise are sums of four uniform bytes (mean 510, standard deviation 147.8), shifted to mean 0
    and multiplied by a power of two.
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


def _split(random: RandomState, nodes: int, sizes: tuple[int, int, int]) -> list[Ints]:
    """Return random nodes for training, validation and testing: int64 [sizes[i]] each."""
    return np.split(random.permutation(nodes), np.cumsum(sizes))[:3]


def attributes(nodes: int) -> tuple[Floats, Ints, int, Ints, Ints, Ints]:
    """Return synthetic attributes for a graph without attributes; they depend on its number of nodes only.

    They are features, float32 [nodes, 128]; labels, int64 [nodes], which affect features but not edges; the
    number of classes, 16; and the node indices for training (60 %), validation and testing (20 % each).
    """
    random, part = RandomState(nodes), nodes // 5
    label = _labels(random, nodes, ATTRIBUTES_CLASSES)
    x = _features(random, label, ATTRIBUTES_CLASSES, ATTRIBUTES_WIDTH)
    train, val, test = _split(random, nodes, (nodes - 2 * part, part, part))
    return x, label, ATTRIBUTES_CLASSES, train, val, test
