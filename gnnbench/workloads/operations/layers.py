"""Layers that reduce over neighbours and multiply by weights: GraphSAGE's and GIN's."""

from typing import TYPE_CHECKING

from ..least_work import Symbols, Work
from ..limits import SCATTER_ADD, SPARSE_TENSOR
from ..operation import Call, Kernel, Operation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor, nn
    from torch_sparse import SparseTensor

    from ..case import Case
    from ..graphs.graph import Graph
    from ..platforms.dgl import DGLGraph

EPSILON = 0.5
"""GIN's initial epsilon: not 0, so that a layer without it is found."""


def on_edge_index() -> Kernel:
    """Return the kernel that applies one of PyG's layers to an edge_index."""
    from ..platforms.pyg import apply
    from ..platforms.torch import edges

    return Kernel(edges, apply)


def _adjacency(case: "Case") -> "SparseTensor":
    """Return the SparseTensor with row pointer and transposed order, as PyG's ToSparseTensor makes it.

    SAGEConv and GINConv copy the matrix without its values in each call. What is not there before, the copy
    computes again each time.
    """
    from ..platforms.sparse import structure

    adjacency = structure(case)
    adjacency.storage.rowptr()
    adjacency.storage.csr2csc()
    return adjacency


def on_sparse_tensor() -> Kernel:
    """Return the kernel that applies one of PyG's layers to a SparseTensor."""
    from ..platforms.pyg import apply

    return Kernel(_adjacency, apply)


def on_dgl_graph() -> Kernel:
    """Return the kernel that applies one of DGL's layers."""
    from ..platforms.dgl import structure

    return Kernel(structure, _apply)


def _apply(graph: "DGLGraph", layer: "nn.Module", x: "Tensor") -> "Tensor":
    return layer(graph, x)


def sage(case: "Case") -> "nn.Module":
    """Make a GraphSAGE layer with means, from hidden to hidden width."""
    from ..case import pattern

    width = case.spec.hidden
    if case.spec.platform == "dgl":
        from ..platforms.dgl import dgl

        layer = dgl.nn.SAGEConv(width, width, "mean")
    else:
        from torch_geometric.nn import SAGEConv

        layer = SAGEConv(width, width)
    matrices = (pattern(2 * width, width) / (2 * width) ** 0.5).chunk(2)
    return with_values(case, layer, matrices, [pattern(width, 1).squeeze(1)])


def gin(case: "Case") -> "nn.Module":
    """Make a GIN layer with a trained epsilon; its network is Linear, ReLU, Linear of hidden width.

    Inner weights are whole numbers and inner biases whole numbers plus 1/4: see `whole_features`.
    """
    from torch import nn, tensor

    from ..case import pattern

    width = case.spec.hidden
    network = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
    if case.spec.platform == "dgl":
        from ..platforms.dgl import dgl

        layer = dgl.nn.GINConv(network, "sum", EPSILON, learn_eps=True)
    else:
        from torch_geometric.nn import GINConv

        layer = GINConv(network, EPSILON, train_eps=True)
    inner, outer = pattern(2 * width, width).chunk(2)
    inner_bias, outer_bias = pattern(2 * width, 1).squeeze(1).chunk(2)
    return with_values(
        case,
        layer,
        [inner.round(), outer / width**0.5],
        [tensor([EPSILON]), inner_bias.round() + 0.25, outer_bias],
    )


def whole_features(case: "Case") -> "Tensor":
    """Return whole numbers from -2 to 2 as features: [N, F].

    GIN's pre-activations are then odd multiples of 1/4, which float32 computes exactly. So rounding moves
    none across the kink of ReLU, and gradients are comparable entry by entry. In bfloat16 the sums over
    neighbours are exact up to 128.
    """
    from ..case import pattern

    return case.tensor(pattern(case.graph.num_nodes, case.spec.hidden).round())


def with_values(
    case: "Case", layer: "nn.Module", matrices: "Iterable[Tensor]", vectors: "Iterable[Tensor]"
) -> "nn.Module":
    """Give a layer of linear layers its values, device and dtype; return it.

    Args:
        case: says the device, the dtype and whether parameters need gradients.
        layer: PyG's or DGL's.
        matrices: [in, out], in the order of the layer's weights.
        vectors: in the order of the layer's other parameters.
    """
    import torch

    layer.to(case.device, case.dtype)
    parameters = list(layer.parameters())
    with torch.no_grad():
        for weight, matrix in zip((one for one in parameters if one.dim() > 1), matrices, strict=True):
            weight.copy_(matrix.t())
        for bias, vector in zip((one for one in parameters if one.dim() == 1), vectors, strict=True):
            bias.copy_(vector)
    return layer.requires_grad_(case.requires_grad)


def sage_conv(graph: "Graph", neighbours: "Tensor", own: "Tensor", bias: "Tensor", x: "Tensor") -> "Tensor":
    """Return mean over neighbours @ neighbours + x @ own + bias (Hamilton et al., NeurIPS 2017): [N, F]."""
    from ..reference import aggregate

    return aggregate(graph.edge_index, None, x, "mean") @ neighbours + x @ own + bias


def gin_conv(
    graph: "Graph",
    inner: "Tensor",
    outer: "Tensor",
    epsilon: "Tensor",
    inner_bias: "Tensor",
    outer_bias: "Tensor",
    x: "Tensor",
) -> "Tensor":
    """Return network((1 + epsilon) x + sum over neighbours) (Xu et al., ICLR 2019): [N, F]."""
    from ..reference import aggregate

    total = (1 + epsilon) * x + aggregate(graph.edge_index, None, x)
    return (total @ inner + inner_bias).relu() @ outer + outer_bias


def sage_work(m: Symbols) -> Work:
    """Bytes G(E) + p s (2 N F + 2 F F + F): x, output, weights and bias, then their gradients.

    Flops p ((E + R) F + N F) + 2 (R + N) F F: means, bias and two products, one of them for nodes with a
    neighbour. The backward pass takes twice the products, because both factors need a gradient.
    """
    products = 2 * (m.R + m.N) * m.F * m.F
    flops = m.p * (m.E + m.R + m.N) * m.F + (2 * m.p - 1) * products
    return Work(m.G(m.E) + m.p * m.s * (2 * m.N + 2 * m.F + 1) * m.F, flops)


def gin_work(m: Symbols) -> Work:
    """Bytes G(E) + p s (2 N F + 2 F F + 2 F + 1): x, output and parameters, then their gradients.

    Flops p (E + 5 N) F + 4 N F F: sums, the scaled x and its addition, two biases, ReLU and two products.
    Backward twice the products, and 2 N F more for epsilon's gradient.
    """
    flops = m.p * (m.E + 5 * m.N) * m.F + (2 * m.p - 1) * 4 * m.N * m.F * m.F + (m.p - 1) * 2 * m.N * m.F
    return Work(m.G(m.E) + m.p * m.s * ((2 * m.N + 2 * m.F + 2) * m.F + 1), flops)


OPERATIONS = (
    Operation(
        "sage_conv",
        {
            "pyg": Call("SAGEConv", on_edge_index, (SCATTER_ADD,)),
            "sparse": Call("SAGEConv on SparseTensor", on_sparse_tensor, (SPARSE_TENSOR,)),
            "dgl": Call("SAGEConv('mean')", on_dgl_graph),
        },
        {"torch": "plain PyTorch has no GraphSAGE layer; its mean over neighbours: see spmm_mean"},
        reference=sage_conv,
        reach=1,
        least_work=sage_work,
        group="layers",
    ),
    Operation(
        "gin_conv",
        {
            "pyg": Call("GINConv", on_edge_index, (SCATTER_ADD,)),
            "sparse": Call("GINConv on SparseTensor", on_sparse_tensor, (SPARSE_TENSOR,)),
            "dgl": Call("GINConv('sum')", on_dgl_graph),
        },
        {"torch": "plain PyTorch has no GIN layer; its sum over neighbours: see spmm_sum"},
        reference=gin_conv,
        reach=1,
        least_work=gin_work,
        group="layers",
    ),
)
