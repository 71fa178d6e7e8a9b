"""PyG on edge_index; its CSR and EdgeIndex products beside it."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric import EdgeIndex
from torch_geometric.nn import GCNConv, Linear
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import add_remaining_self_loops, scatter, spmm

from ..case import Case
from . import Kernel
from .torch import edges, matrix

TRANSPOSED_WEIGHT = True
MODEL_OPERATION = "conv"


class Edges(NamedTuple):
    """A graph as PyG's functions take it."""

    edge_index: Tensor
    """int [2, E]."""
    num_nodes: int


def layer(weight: Tensor, bias: Tensor, *, cached: bool) -> nn.Module:
    """Make a GCNConv from weight [in, out] and bias [out]."""
    conv = GCNConv(*weight.shape, cached=cached).to(weight.device, weight.dtype)
    with torch.no_grad():
        conv.lin.weight.copy_(weight.t())
        conv.bias.copy_(bias)
    return conv


def entries(output: Tensor | tuple[Tensor, Tensor]) -> Tensor | None:
    """Return targets and sources of (edge_index, weight), None for a dense output."""
    return None if isinstance(output, Tensor) else output[0].flip(0).long()


def linear_layer(weight: Tensor) -> nn.Module:
    """Make PyG's Linear, without bias, from weight [in, out]."""
    linear = Linear(*weight.shape, bias=False).to(weight.device, weight.dtype)
    with torch.no_grad():
        linear.weight.copy_(weight.t())
    return linear


def values(output: Tensor | tuple[Tensor, Tensor]) -> Tensor:
    """Return a dense output, or the weights of edges."""
    return output if isinstance(output, Tensor) else output[1]


def numbered_edges(case: Case) -> Edges:
    """Return the edge list with the number of nodes."""
    return Edges(case.edge_index(), case.graph.num_nodes)


def _edge_index(case: Case) -> EdgeIndex:
    size = (case.graph.num_nodes, case.graph.num_nodes)
    return EdgeIndex(case.edge_index(), sparse_size=size, sort_order="col", is_undirected=True).fill_cache_()


def _spmm(reduce: str) -> Kernel:
    return Kernel(matrix, lambda adjacency, x: spmm(adjacency, x, reduce))


def _conv(edge_index: Tensor, layer: nn.Module, x: Tensor) -> Tensor:
    return layer(x, edge_index)


KERNELS = {
    "add_self_loops": Kernel(
        numbered_edges,
        lambda graph, weight: add_remaining_self_loops(graph.edge_index, weight, 1.0, graph.num_nodes),
    ),
    "gcn_norm": Kernel(
        numbered_edges, lambda graph, weight: gcn_norm(graph.edge_index, weight, graph.num_nodes)
    ),
    "spmm_sum": _spmm("sum"),
    "spmm_mean": _spmm("mean"),
    "spmm_max": _spmm("max"),
    "spmm_sum_edge_index": Kernel(_edge_index, lambda edge_index, x: edge_index.matmul(x, transpose=True)),
    "gather_scatter_sum": Kernel(
        numbered_edges,
        lambda graph, x: scatter(x[graph.edge_index[0]], graph.edge_index[1], 0, graph.num_nodes, "sum"),
    ),
    "linear": Kernel(lambda _: None, lambda _, layer, x: layer(x)),
    "conv": Kernel(edges, _conv),
    "conv_cached": Kernel(edges, _conv),
}
