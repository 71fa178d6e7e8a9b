"""A graph, in the form that all platforms receive."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...engine.ground.errors import UsageError
from .published import NODE, Relation, reverses

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Graph:
    """A simple undirected graph with features, labels and splits, on the CPU.

    All platforms get the same form: both directions of each edge, without self-loops or duplicates. Each
    direction is called an entry, because it is one in the adjacency matrix. Entries are sorted by target,
    then source: the order of a CSR matrix with targets as rows. Operations that need self-loops add them.

    A graph may have types of nodes and types of edges (relations). Then the reverse of an edge belongs to the
    reverse of its relation, and two nodes may have one entry for each relation.
    """

    name: str
    """The data set's id, as in test ids."""
    synthetic: bool
    edge_index: Tensor
    """int64 [2, E]: sources, targets."""
    x: Tensor
    """float32 [N, F]."""
    y: Tensor
    """Classes, int64 [N]."""
    num_classes: int
    train_mask: Tensor
    """bool [N], like the other two masks."""
    val_mask: Tensor
    test_mask: Tensor
    edge_type: Tensor | None = None
    """Positions in `relations`, int64 [E]; None if the graph has no relations."""
    relations: tuple[Relation, ...] = ()
    node_type: Tensor | None = None
    """Positions in `node_types`, int64 [N], ascending; None if there is one type."""
    node_types: tuple[str, ...] = (NODE,)
    sizes: Tensor | None = None
    """The number of nodes of each separate graph, such as a molecule, in the order of nodes: int64 [M]. All
    nodes of such a graph have its label and are in the same part of the split. None if there is one graph."""

    @classmethod
    def build(
        cls,
        name: str,
        source: Ints,
        target: Ints,
        x: Floats,
        y: Ints,
        num_classes: int,
        train: Ints,
        val: Ints,
        test: Ints,
        *,
        synthetic: bool,
        edge_type: Ints | None = None,
        relations: tuple[Relation, ...] = (),
        type_sizes: Mapping[str, int] | None = None,
        sizes: Ints | None = None,
    ) -> "Graph":
        """Make a graph from listed edges, in any order and direction: source and target int64 [M].

        `train`, `val` and `test` are node indices. `edge_type` is the position in `relations` of each listed
        edge's relation. Relations include reverses; a relation without a reverse is its own reverse.
        `type_sizes` counts the nodes of each type, and `sizes` the nodes of each separate graph, in the order
        of the nodes. Raises UsageError if a node index is outside [0, N).
        """
        num_nodes = len(x)
        bounds = (node for ends in (source, target) if len(ends) for node in (ends.min(), ends.max()))
        if outside := [node for node in bounds if not 0 <= node < num_nodes]:
            raise UsageError(
                f"{name}: an edge has node {outside[0]}, outside 0..{num_nodes - 1}; "
                "check how the file numbers its nodes"
            )
        entries, types = _entries(source, target, num_nodes, edge_type, reverses(relations))
        return cls(
            name,
            synthetic,
            torch.from_numpy(entries),
            _tensor(np.asarray(x, dtype=np.float32)),
            _tensor(y),
            num_classes,
            _mask(train, num_nodes),
            _mask(val, num_nodes),
            _mask(test, num_nodes),
            edge_type=None if types is None else _tensor(types),
            relations=relations,
            node_type=_node_type(type_sizes),
            node_types=tuple(type_sizes or (NODE,)),
            sizes=None if sizes is None else _tensor(sizes),
        )

    @property
    def num_nodes(self) -> int:
        """N, the number of nodes."""
        return self.x.size(0)

    @property
    def num_edges(self) -> int:
        """E, the number of entries: each undirected edge counts twice."""
        return self.edge_index.size(1)

    @property
    def num_features(self) -> int:
        """F, the number of features per node."""
        return self.x.size(1)

    @property
    def type_sizes(self) -> dict[str, int]:
        """The number of nodes of each type, in the order of the nodes."""
        if self.node_type is None:
            return {self.node_types[0]: self.num_nodes}
        counts = self.node_type.bincount(minlength=len(self.node_types)).tolist()
        return dict(zip(self.node_types, counts, strict=True))

    @cached_property
    def max_degree(self) -> int:
        """The largest number of entries that end at one node."""
        return int(self.edge_index[1].bincount().max()) if self.num_edges else 0

    def part(self, nodes: Tensor, edges: Tensor) -> "Graph":
        """Return the subgraph of some nodes [n] and entries among them [m], both ascending, renumbered."""
        return replace(
            self,
            edge_index=torch.searchsorted(nodes, self.edge_index[:, edges]),
            x=self.x[nodes],
            y=self.y[nodes],
            train_mask=self.train_mask[nodes],
            val_mask=self.val_mask[nodes],
            test_mask=self.test_mask[nodes],
            edge_type=None if self.edge_type is None else self.edge_type[edges],
            node_type=None if self.node_type is None else self.node_type[nodes],
            sizes=None,
        )

    @cached_property
    def content_hash(self) -> str:
        """16 hexadecimal digits of a SHA-256 of shapes, bytes and relations, but not of the name."""
        digest = hashlib.sha256()
        tensors = [self.edge_index, self.x, self.y, self.train_mask, self.val_mask, self.test_mask]
        tensors += [part for part in (self.edge_type, self.node_type, self.sizes) if part is not None]
        if self.relations:
            digest.update(f"{[tuple(relation) for relation in self.relations]}".encode())
        for tensor in tensors:
            digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
            digest.update(tensor.numpy().ravel().data)
        return digest.hexdigest()[:16]


def _entries(
    source: Ints, target: Ints, num_nodes: int, edge_type: Ints | None, reverse: Sequence[int]
) -> tuple[Ints, Ints | None]:
    """Return each edge once in each direction, without loops, by target, then source: int64 [2, E].

    If edges have types, two nodes have an entry for each of their relations, sorted by relation. Each entry's
    relation is then returned, too: int64 [E]. `reverse` has the position of each relation's reverse.
    """
    no_loop = source != target
    source, target = source[no_loop], target[no_loop]
    # One key per entry: sorting integers is several times faster than a lexsort of pairs.
    keys = np.concatenate((target * num_nodes + source, source * num_nodes + target))
    if edge_type is not None:
        edge_type = edge_type[no_loop]
        keys *= len(reverse)
        keys += np.concatenate((edge_type, np.array(reverse)[edge_type]))
    # np.unique uses a hash table, which is ten times slower with millions of keys.
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) > 0]
    if edge_type is not None:
        keys, edge_type = np.divmod(keys, len(reverse))
    return np.stack((keys % num_nodes, keys // num_nodes)), edge_type


def _node_type(sizes: Mapping[str, int] | None) -> Tensor | None:
    if sizes is None or len(sizes) == 1:
        return None
    return torch.arange(len(sizes)).repeat_interleave(torch.tensor(list(sizes.values())))


def _mask(nodes: Ints, num_nodes: int) -> Tensor:
    mask = torch.zeros(num_nodes, dtype=torch.bool)
    mask[_tensor(nodes)] = True
    return mask


def _tensor(array: NDArray[Any]) -> Tensor:
    """Return a tensor that shares the array's memory if that is contiguous and writable, else a copy."""
    return torch.from_numpy(np.require(array, requirements=("C", "W")))
