"""PyG and torch_sparse on SparseTensor, with targets as rows (`adj_t`)."""

import torch
import torch_sparse
from torch import Tensor, nn
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_scatter import scatter
from torch_sparse import SparseTensor

from ..case import Case
from . import Kernel
from .pyg import TRANSPOSED_WEIGHT, Edges, layer, numbered_edges

__all__ = ["KERNELS", "MODEL_OPERATION", "TRANSPOSED_WEIGHT", "entries", "layer", "values"]

MODEL_OPERATION = "conv"


def entries(output: Tensor | SparseTensor) -> Tensor | None:
    """Return rows and columns of a SparseTensor, None for a dense output."""
    if isinstance(output, Tensor):
        return None
    row, column, _ = output.coo()
    return torch.stack((row, column))


def values(output: Tensor | SparseTensor) -> Tensor:
    """Return a dense output, or the values of a SparseTensor."""
    return output if isinstance(output, Tensor) else output.storage.value()


def adjacency(case: Case) -> SparseTensor:
    """Return the SparseTensor [N, N] without values."""
    source, target = case.edge_index()
    size = (case.graph.num_nodes, case.graph.num_nodes)
    return SparseTensor(row=target, col=source, sparse_sizes=size, is_sorted=True)


def _weighted(adjacency: SparseTensor, weight: Tensor) -> SparseTensor:
    return adjacency.set_value(weight, layout="coo")


def _spmm(reduce: str) -> Kernel:
    return Kernel(adjacency, lambda adjacency, x: torch_sparse.matmul(adjacency, x, reduce))


def _gather_scatter_sum(graph: Edges, x: Tensor) -> Tensor:
    source, target = graph.edge_index
    return scatter(x[source], target, 0, dim_size=graph.num_nodes, reduce="sum")


def _conv(adjacency: SparseTensor, layer: nn.Module, x: Tensor) -> Tensor:
    return layer(x, adjacency)


KERNELS = {
    "add_self_loops": Kernel(
        adjacency, lambda adjacency, weight: torch_sparse.fill_diag(_weighted(adjacency, weight), 1.0)
    ),
    "gcn_norm": Kernel(adjacency, lambda adjacency, weight: gcn_norm(_weighted(adjacency, weight))),
    "spmm_sum": _spmm("sum"),
    "spmm_mean": _spmm("mean"),
    "spmm_max": _spmm("max"),
    "gather_scatter_sum": Kernel(numbered_edges, _gather_scatter_sum),
    "conv": Kernel(adjacency, _conv),
    "conv_cached": Kernel(adjacency, _conv),
}
