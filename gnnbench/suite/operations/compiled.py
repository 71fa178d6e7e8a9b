"""A graph convolution and an attention layer under torch.compile, on graphs of eight sizes."""

from collections.abc import Callable
from functools import partial

from ...engine.ground.labels import Work
from ..annotations import Case, Edges, Graph, Module, Tensor
from ..least_work import Symbols
from ..libraries import on_compiled, on_pyg, torch
from ..operation import FORWARD_BACKWARD, Call, Kernel, operation
from . import conv, gat_conv

SIZES = 8
_MOST_NODES = 16384
"""Nodes of the largest part: how often a layer is compiled does not depend on it."""


def counts(num_nodes: int) -> list[int]:
    """Return how many nodes each part has: eighths of the graph, or of its first _MOST_NODES nodes."""
    largest = min(num_nodes, _MOST_NODES)
    return [max(1, largest * part // SIZES) for part in range(1, SIZES + 1)]


def _parts(graph: Graph) -> list[Graph]:
    """Return the parts with the first nodes of a graph and the entries between them."""
    return [
        graph.part(torch.arange(count), (graph.edge_index < count).all(dim=0).nonzero().squeeze(1))
        for count in counts(graph.num_nodes)
    ]


def _pyg() -> Kernel:
    compiled = on_compiled.compiled()

    def build(case: Case) -> tuple[Edges, ...]:
        return tuple(
            on_pyg.Edges(part.edge_index.to(case.device, case.index_dtype), part.num_nodes)
            for part in _parts(case.graph)
        )

    def run(parts: tuple[Edges, ...], layer: Module, x: Tensor) -> Tensor:
        return torch.cat([compiled(part.edge_index, layer, x[: part.num_nodes]) for part in parts])

    return Kernel(build, run)


def attention_inputs(case: Case) -> tuple[Module, Tensor]:
    """Return the layer of `gat_conv`, and its features [N, F]."""
    return gat_conv.layer(case, "GATConv", gat_conv.gat_parameters), gat_conv.features(case)


def reference(graph: Graph, *tensors: Tensor, of: Callable[..., Tensor]) -> Tensor:
    """Return the layer `of` its parameters and x on each part, one below the other: [sum of nodes, out]."""
    *parameters, x = tensors
    return torch.cat([of(part, *parameters, x[: part.num_nodes]) for part in _parts(graph)])


def conv_work(m: Symbols) -> Work:
    """x, outputs, weight and bias, then their gradients; product, propagation of self-loops, bias.

    Of the entries only those of a largest part that is the whole graph count, because how many the others
    have is not known. Attention does more.
    """
    nodes = counts(m.N)
    total = sum(nodes)
    entries = m.G(m.E) if nodes[-1] == m.N else 0
    moved = entries + m.p * m.s * (nodes[-1] * m.F + total * m.F + m.F * m.F + m.F)
    return Work(moved, (2 * m.p - 1) * 2 * total * m.F * m.F + m.p * 3 * total * m.F)


OPERATIONS = tuple(
    operation(
        name,
        pyg=Call(f"torch.compile({layer})", make=_pyg),
        sparse="torch.compile does not trace torch_sparse's operators",
        torch="torch.compile does not accept sparse tensors",
        dgl="torch.compile does not trace DGL's kernels",
        directions=(FORWARD_BACKWARD,),
        example=name == "conv_compiled_sizes",
        reference=partial(reference, of=definition),
        least_work=conv_work,
        group="compiled",
    )
    for name, layer, definition in (
        ("conv_compiled_sizes", "GCNConv", conv.reference),
        ("gat_conv_compiled_sizes", "GATConv", gat_conv.gat),
    )
)
