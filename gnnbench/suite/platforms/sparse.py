"""PyG and torch_sparse on SparseTensor, with targets as rows (`adj_t`)."""

import torch
from torch import Tensor
from torch_sparse import SparseTensor

from ..case import Case
from . import pyg
from .pyg import apply, layer, numbered_edges  # noqa: F401 - see `load`


def entries(output: Tensor | tuple[Tensor, Tensor] | SparseTensor) -> Tensor | None:
    """Return rows and columns of a SparseTensor, int64 [2, M]; for other outputs, see `pyg.entries`."""
    if not isinstance(output, SparseTensor):
        return pyg.entries(output)
    row, column, _ = output.coo()
    return torch.stack((row, column))


def values(output: Tensor | tuple[Tensor, Tensor] | SparseTensor) -> Tensor:
    """Return the values of a SparseTensor; for other outputs, see `pyg.values`."""
    return output.storage.value() if isinstance(output, SparseTensor) else pyg.values(output)


def structure(case: Case) -> SparseTensor:
    """Return the SparseTensor [N, N] without values."""
    source, target = case.edge_index()
    size = (case.graph.num_nodes, case.graph.num_nodes)
    return SparseTensor(row=target, col=source, sparse_sizes=size, is_sorted=True)


layer_graph = structure


def ordered(adjacency: SparseTensor) -> SparseTensor:
    """Cache row pointer and transposed order in a matrix, as PyG's ToSparseTensor does; return the matrix.

    In each call, SAGEConv and GINConv copy the matrix without values. The copies would compute both again.
    """
    adjacency.storage.rowptr()
    adjacency.storage.csr2csc()
    return adjacency


def ordered_structure(case: Case) -> SparseTensor:
    """Return the SparseTensor with cached row pointer and transposed order."""
    return ordered(structure(case))


def weighted(adjacency: SparseTensor, weight: Tensor) -> SparseTensor:
    """Return the matrix with values [E], ordered by row."""
    return adjacency.set_value(weight, layout="coo")
