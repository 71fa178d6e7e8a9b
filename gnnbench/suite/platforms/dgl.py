"""DGL: its graphs and its graph convolution."""

from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from ..case import Case
from ..libraries import import_dgl
from .torch import apply  # noqa: F401 - see `load`

dgl = import_dgl()

DGLGraph: TypeAlias = Any


def layer(weight: Tensor, bias: Tensor, *, cached: bool = False) -> nn.Module:
    """Make a GraphConv from weight [in, out] and bias [out].

    GraphConv has no cache. With `cached` it does not normalise and expects normalised edge weights, as in
    DGL's documentation of EdgeWeightNorm.
    """
    conv: nn.Module = dgl.nn.GraphConv(*weight.shape, norm="none" if cached else "both")
    conv.to(weight.device, weight.dtype)
    with torch.no_grad():
        conv.weight.copy_(weight)  # type: ignore[operator]
        conv.bias.copy_(bias)  # type: ignore[operator]
    return conv


def values(output: Tensor | DGLGraph) -> Tensor:
    """Return a dense output, or a graph's weights."""
    return output if isinstance(output, Tensor) else output.edata["w"]


def structure(case: Case) -> DGLGraph:
    """Return the graph in all formats; otherwise DGL would make them on first use."""
    source, target = case.edge_index()
    return with_formats(dgl.graph((source, target), num_nodes=case.graph.num_nodes))


def with_formats(graph: DGLGraph) -> DGLGraph:
    """Make all formats of a graph in place; return it."""
    graph.create_formats_()
    return graph


def layer_graph(case: Case) -> DGLGraph:
    """Return the graph with self-loops."""
    return with_formats(dgl.add_self_loop(structure(case)))


def normalized_graph(case: Case) -> DGLGraph:
    """Return the graph with self-loops and the weights of D^-1/2 A D^-1/2 as `w`."""
    looped = layer_graph(case)
    ones = torch.ones(looped.num_edges(), dtype=case.dtype, device=case.device)
    looped.edata["w"] = dgl.nn.EdgeWeightNorm("both")(looped, ones)
    return looped


def add_self_loops(graph: DGLGraph, weight: Tensor) -> DGLGraph:
    """Return the graph with self-loops; `w` has the weights [E], and 1 for each loop."""
    weighted = graph.local_var()
    weighted.edata["w"] = weight
    return dgl.add_self_loop(weighted, edge_feat_names=["w"], fill_data=1.0)


def apply_weighted(graph: DGLGraph, layer: nn.Module, x: Tensor) -> Tensor:
    """Apply a layer to a graph with weights `w`."""
    return layer(graph, x, edge_weight=graph.edata["w"])
