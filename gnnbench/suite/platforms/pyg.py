"""PyG on edge_index, and on CSR for sparse products."""

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from ..case import Case
from . import Edges
from .torch import edges, structure  # noqa: F401 - operations name it

layer_graph = edges


def layer(weight: Tensor, bias: Tensor, *, cached: bool = False) -> nn.Module:
    """Make a GCNConv from weight [in, out] and bias [out]."""
    conv = GCNConv(*weight.shape, cached=cached).to(weight.device, weight.dtype)
    with torch.no_grad():
        conv.lin.weight.copy_(weight.t())
        conv.bias.copy_(bias)
    return conv


def values(output: Tensor | tuple[Tensor, Tensor]) -> Tensor:
    """Return a dense output, or the weight of (edge_index, weight)."""
    return output if isinstance(output, Tensor) else output[1]


def numbered_edges(case: Case) -> Edges:
    """Return the edge list with the number of nodes."""
    return Edges(case.edge_index(), case.graph.num_nodes)


def apply(graph: Any, layer: nn.Module, x: Tensor) -> Tensor:
    """Apply a layer to an edge_index or a SparseTensor."""
    return layer(x, graph)
