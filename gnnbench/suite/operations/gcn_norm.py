"""The symmetric normalisation of a graph convolution, its two counterparts in DGL, and self-loops."""

from functools import partial
from typing import Any

from ..annotations import Graph, Tensor
from ..libraries import definitions, dgl, gcn_conv, on_dgl, on_sparse, torch, torch_sparse, utils
from ..limits import DGL_HALF, avoids
from ..operation import FORWARD, FORWARD_BACKWARD, Call, operation

_ROUNDING = avoids(
    "the gradient of EdgeWeightNorm is too inexact in bfloat16 at nodes of high degree",
    "bfloat16",
    FORWARD_BACKWARD,
)


def _dgl_weights(graph: Any, weight: Tensor) -> Any:
    looped = on_dgl.add_self_loops(graph, weight)
    looped.edata["w"] = dgl.nn.EdgeWeightNorm("both")(looped, looped.edata["w"])
    return looped


def gcn_norm(graph: Graph, weight: Tensor) -> Tensor:
    """Return D^-1/2 (A + I) D^-1/2 (Kipf and Welling, ICLR 2017), where D has the sums by target: COO."""
    entries, weight = definitions.with_self_loops(graph, weight)
    return definitions.matrix(graph, entries, definitions.normalize(entries, weight, graph.num_nodes))


def edge_weight_norm(graph: Graph, weight: Tensor) -> Tensor:
    """Return A + I, each entry divided by the roots of the weight sums at its target and its source: COO.

    This is `dgl.nn.EdgeWeightNorm("both")`, which differs from gcn_norm if weights depend on the direction.
    """
    entries, weight = definitions.with_self_loops(graph, weight)
    source, target = entries
    inward, outward = (definitions.sums(end, weight, graph.num_nodes) for end in (target, source))
    return definitions.matrix(graph, entries, weight * inward[target].rsqrt() * outward[source].rsqrt())


def degree_norm(graph: Graph, _like: Tensor) -> Tensor:
    """Return max(degree, 1) ** -0.5 for each node, without self-loops: [N]."""
    return graph.edge_index[0].bincount(minlength=graph.num_nodes).clamp(min=1).double().rsqrt()


_operation = partial(operation, group="normalisation")

OPERATIONS = (
    _operation(
        "gcn_norm",
        pyg=Call(
            "gcn_norm on edge_index",
            lambda graph, weight: gcn_conv.gcn_norm(graph.edge_index, weight, graph.num_nodes),
            build="numbered_edges",
        ),
        sparse=Call(
            "gcn_norm on SparseTensor",
            lambda adjacency, weight: gcn_conv.gcn_norm(on_sparse.weighted(adjacency, weight)),
        ),
        torch="plain PyTorch has no gcn_norm; its GCN normalises once, when the graph is built",
        dgl="DGL divides by the sums at both ends, so its gradient differs: see edge_weight_norm",
        core=True,
        reference=gcn_norm,
    ),
    _operation(
        "edge_weight_norm",
        dgl=Call("add_self_loop, EdgeWeightNorm", _dgl_weights, (_ROUNDING, DGL_HALF)),
        core=True,
        reference=edge_weight_norm,
    ),
    _operation(
        "degree_norm",
        dgl=Call(
            "GraphConv's degrees ** -0.5",
            lambda graph, like: torch.pow(graph.out_degrees().to(like).clamp(min=1), -0.5),
        ),
        directions=(FORWARD,),
        reference=degree_norm,
        reads_all=False,  # only the dtype of its second input
    ),
    _operation(
        "add_remaining_self_loops",
        pyg=Call(
            "add_remaining_self_loops",
            lambda graph, weight: utils.add_remaining_self_loops(
                graph.edge_index, weight, 1.0, graph.num_nodes
            ),
            build="numbered_edges",
        ),
        sparse=Call(
            "torch_sparse.fill_diag",
            lambda adjacency, weight: torch_sparse.fill_diag(on_sparse.weighted(adjacency, weight), 1.0),
        ),
        dgl=Call("dgl.add_self_loop", "add_self_loops"),
        core=True,
        reference=lambda graph, weight: definitions.matrix(
            graph, *definitions.with_self_loops(graph, weight)
        ),
    ),
)
