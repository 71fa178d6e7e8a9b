"""The one graph that every platform gets."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...errors import UsageError


@dataclass(frozen=True, eq=False)
class Graph:
    """A simple undirected graph with features, labels and splits, on the CPU.

    Decided once, here, for every platform: both directions of each edge are listed, there are no
    self-loops and no edge twice, and entries are sorted by target, then source, so that the order of
    edges is that of a CSR matrix with targets as rows. Platforms add self-loops themselves.
    """

    name: str
    """The data set's id, as in test ids; a synthetic one says so in it."""
    synthetic: bool
    edge_index: Tensor
    """int64 [2, E]: sources, targets."""
    x: Tensor
    """float32 [N, F]."""
    y: Tensor
    """int64 [N]: classes; or float32 [N, C]: one 0 or 1 per task (multi-label)."""
    num_classes: int
    train_mask: Tensor
    """bool [N]; so are the other two."""
    val_mask: Tensor
    test_mask: Tensor

    @classmethod
    def build(
        cls,
        name: str,
        source: NDArray[np.int64],
        target: NDArray[np.int64],
        x: NDArray[np.float32],
        y: NDArray[np.int64] | NDArray[np.float32],
        num_classes: int,
        train: NDArray[np.int64],
        val: NDArray[np.int64],
        test: NDArray[np.int64],
        *,
        synthetic: bool,
    ) -> "Graph":
        """Make the canonical graph of listed edges, in any order and direction.

        Args:
            name: the data set's id.
            source: int64 [M]; `target` likewise.
            target: the other end of each edge.
            x: float32 [N, F].
            y: int64 [N] or float32 [N, C].
            num_classes: C.
            train: int64 node numbers of the split; `val` and `test` likewise.
            val: see `train`.
            test: see `train`.
            synthetic: whether any of it was made up.

        Raises:
            UsageError: an end outside [0, N), a feature that is not finite, shapes that disagree.
        """
        num_nodes = len(x)
        if len(y) != num_nodes:
            raise UsageError(
                f"{name}: {len(y)} labels for {num_nodes} nodes; the files do not belong together"
            )
        for end, ids in (("source", source), ("target", target)):
            outside = np.flatnonzero((ids < 0) | (ids >= num_nodes))
            if len(outside):
                at = int(outside[0])
                raise UsageError(
                    f"{name}: edge {at} has {end} node {int(ids[at])}, outside 0..{num_nodes - 1}; "
                    "check how the file numbers its nodes"
                )
        if not np.isfinite(x).all():
            row, column = np.argwhere(~np.isfinite(x))[0]
            raise UsageError(
                f"{name}: feature {column} of node {row} is {x[row, column]}; clean the features first"
            )
        return cls(
            name=name,
            synthetic=synthetic,
            edge_index=torch.from_numpy(_symmetric_entries(source, target, num_nodes)),
            x=_tensor(np.asarray(x, dtype=np.float32)),
            y=_tensor(y),
            num_classes=num_classes,
            train_mask=_mask(train, num_nodes),
            val_mask=_mask(val, num_nodes),
            test_mask=_mask(test, num_nodes),
        )

    @property
    def num_nodes(self) -> int:
        """N."""
        return self.x.size(0)

    @property
    def num_edges(self) -> int:
        """E, the number of entries: each undirected edge counts twice."""
        return self.edge_index.size(1)

    @property
    def num_features(self) -> int:
        """F."""
        return self.x.size(1)

    @cached_property
    def content_hash(self) -> str:
        """16 hexadecimal digits of the SHA-256 of shapes and bytes; the name takes no part in it."""
        digest = hashlib.sha256()
        for tensor in (self.edge_index, self.x, self.y, self.train_mask, self.val_mask, self.test_mask):
            digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
            digest.update(tensor.numpy().ravel().data)
        return digest.hexdigest()[:16]


def _symmetric_entries(
    source: NDArray[np.int64], target: NDArray[np.int64], num_nodes: int
) -> NDArray[np.int64]:
    """Both directions of every edge, once, no loops, sorted by target then source: int64 [2, E]."""
    proper = source != target
    source, target = source[proper], target[proper]
    # One key per entry: sorting integers is several times faster than a lexsort of pairs.
    keys = np.concatenate((target * num_nodes + source, source * num_nodes + target))
    # Not np.unique, whose hash table is ten times slower at millions of keys.
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) > 0]
    return np.stack((keys % num_nodes, keys // num_nodes))


def _mask(nodes: NDArray[np.int64], num_nodes: int) -> Tensor:
    mask = torch.zeros(num_nodes, dtype=torch.bool)
    mask[_tensor(nodes)] = True
    return mask


def _tensor(array: NDArray[Any]) -> Tensor:
    """Share memory where it is contiguous and writable, as torch wants it; else copy."""
    return torch.from_numpy(np.require(array, requirements=("C", "W")))
