"""PyG and torch_sparse on SparseTensor, with targets as rows (`adj_t`)."""

from torch import Tensor
from torch_sparse import SparseTensor

from ..case import Case
from . import pyg
from .pyg import apply, layer, numbered_edges  # noqa: F401 - see `load`


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
