"""DGL: message passing with update_all, its kernels called directly, and its layers."""

from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from ..case import Case
from . import Kernel
from .dgl_import import import_dgl

dgl = import_dgl()
fn = dgl.function

TRANSPOSED_WEIGHT = False
MODEL_OPERATION = "conv"

DGLGraph: TypeAlias = Any


def layer(weight: Tensor, bias: Tensor, *, cached: bool) -> nn.Module:
    """Make a GraphConv from weight [in, out] and bias [out].

    GraphConv has no cache: with `cached` it does not normalise, and takes weights that are, as DGL's
    documentation of EdgeWeightNorm shows.
    """
    conv: nn.Module = dgl.nn.GraphConv(*weight.shape, norm="none" if cached else "both")
    conv.to(weight.device, weight.dtype)
    with torch.no_grad():
        conv.weight.copy_(weight)  # type: ignore[operator]
        conv.bias.copy_(bias)  # type: ignore[operator]
    return conv


def entries(output: Tensor | DGLGraph) -> Tensor | None:
    """Return targets and sources of a graph, None for a dense output."""
    if isinstance(output, Tensor):
        return None
    source, target = output.edges()
    return torch.stack((target, source)).long()


def values(output: Tensor | DGLGraph) -> Tensor:
    """Return a dense output, or a graph's weights."""
    return output if isinstance(output, Tensor) else output.edata["w"]


def graph(case: Case) -> DGLGraph:
    """Return the graph in all of its formats, which DGL makes on first use otherwise."""
    source, target = case.edge_index()
    return with_formats(dgl.graph((source, target), num_nodes=case.graph.num_nodes))


def with_formats(graph: DGLGraph) -> DGLGraph:
    """Make all formats of a graph, in place, and return it."""
    graph.create_formats_()
    return graph


def looped_graph(case: Case) -> DGLGraph:
    """Return the graph with self-loops."""
    return with_formats(dgl.add_self_loop(graph(case)))


def normalized_graph(case: Case) -> DGLGraph:
    """Return the graph with self-loops and the weights of D^-1/2 A D^-1/2 as `w`."""
    looped = looped_graph(case)
    ones = torch.ones(looped.num_edges(), dtype=case.dtype, device=case.device)
    looped.edata["w"] = dgl.nn.EdgeWeightNorm("both")(looped, ones)
    return looped


def _add_self_loops(graph: DGLGraph, weight: Tensor) -> DGLGraph:
    weighted = graph.local_var()
    weighted.edata["w"] = weight
    return dgl.add_self_loop(weighted, edge_feat_names=["w"], fill_data=1.0)


def _edge_weight_norm(graph: DGLGraph, weight: Tensor) -> DGLGraph:
    looped = _add_self_loops(graph, weight)
    looped.edata["w"] = dgl.nn.EdgeWeightNorm("both")(looped, looped.edata["w"])
    return looped


def _update_all(message: Any, reduce: Any) -> Kernel:
    def run(graph: DGLGraph, x: Tensor, weight: Tensor | None = None) -> Tensor:
        with graph.local_scope():
            graph.ndata["x"] = x
            if weight is not None:
                graph.edata["w"] = weight
            graph.update_all(message, reduce("message", "out"))
            return graph.ndata["out"]

    return Kernel(graph, run)


def _aggregate(hops: int) -> Kernel:
    def run(graph: DGLGraph, x: Tensor) -> Tensor:
        for _ in range(hops):
            x = _AGGNET(graph, x)
        return x

    return Kernel(looped_graph, run)


def _conv(graph: DGLGraph, layer: nn.Module, x: Tensor) -> Tensor:
    return layer(graph, x)


_AGGNET = dgl.nn.GraphConv(1, 1, norm="none", weight=False, bias=False)
_copy_u = fn.copy_u("x", "message")

KERNELS = {
    "add_self_loops": Kernel(graph, _add_self_loops),
    "edge_weight_norm": Kernel(graph, _edge_weight_norm),
    "degree_norm": Kernel(
        graph, lambda graph, like: torch.pow(graph.out_degrees().to(like).clamp(min=1), -0.5)
    ),
    "spmm_sum": Kernel(graph, dgl.ops.copy_u_sum),
    "spmm_mean": Kernel(graph, dgl.ops.copy_u_mean),
    "update_all_copy_u_sum": _update_all(_copy_u, fn.sum),
    "update_all_copy_u_mean": _update_all(_copy_u, fn.mean),
    "update_all_copy_u_max": _update_all(_copy_u, fn.max),
    "update_all_u_mul_e_sum": _update_all(fn.u_mul_e("x", "w", "message"), fn.sum),
    "conv": Kernel(looped_graph, _conv),
    "conv_cached": Kernel(
        normalized_graph, lambda graph, layer, x: layer(graph, x, edge_weight=graph.edata["w"])
    ),
    "aggregate": _aggregate(2),
    "aggregate_one_hop": _aggregate(1),
    "aggregate_three_hops": _aggregate(3),
    "aggregate_four_hops": _aggregate(4),
}
