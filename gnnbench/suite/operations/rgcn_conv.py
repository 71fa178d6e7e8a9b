"""The relational graph convolution (Schlichtkrull et al., ESWC 2018), with a weight for each relation."""

from functools import partial
from typing import Any, NamedTuple

from ..annotations import Case, Graph, Layer, Tensor
from ..libraries import definitions, dgl, inputs, network, on_dgl, on_sparse, torch, torch_geometric
from ..limits import DGL_HALF, HALF, SCATTER_ADD, refuses
from ..operation import Call, operation

BASES = 30
"""Number of matrices whose weighted sum is a relation's weight, as in PyG's AIFB example."""

_FLOAT32 = refuses("RGCNConv returns float32 for half precision", HALF)


class _Edges(NamedTuple):
    """edge_index or a DGLGraph, with the type of each edge, int64 [E].

    `norm` [E, 1] is 1 / the number of edges with the same relation and target, or None if the layer counts.
    """

    graph: Any
    edge_type: Tensor
    norm: Tensor | None = None


def layer(case: Case) -> Layer:
    """Make the layer of a case's operation, with parameters that are equal on every platform.

    The parameters are bases [B, F, F], coefficients [Q, B], the node's own weight [F, F] and the bias [F].
    """
    width, relations = case.spec.hidden, len(case.graph.relations)
    if case.spec.platform == "dgl":
        module = dgl.nn.RelGraphConv(width, width, relations, regularizer="basis", num_bases=BASES)
        names = "linear_r.W", "linear_r.coeff", "loop_weight", "h_bias"
    else:
        is_fast = case.spec.operation == "rgcn_conv_fast"
        convolution = torch_geometric.nn.FastRGCNConv if is_fast else torch_geometric.nn.RGCNConv
        module, names = convolution(width, width, relations, BASES), ("weight", "comp", "root", "bias")
    bases = inputs.pattern(BASES * width, width).reshape(BASES, width, width) / width**0.5
    coefficients = inputs.pattern(relations, BASES) / BASES**0.5
    values = (bases, coefficients, *case.weights(width, width))
    return network.with_parameters(case, network.Layer(module, map(module.get_parameter, names)), values)


def _edge_type(case: Case) -> Tensor:
    assert case.graph.edge_type is not None
    return case.graph.edge_type.to(case.device, copy=True)


def _sorted_graph(case: Case) -> _Edges:
    """Return DGL's graph with edges sorted by relation, and the factors that turn sums into means."""
    graph, edge_type = case.graph, _edge_type(case).cpu()
    order = edge_type.argsort(stable=True)
    source, target = case.edge_index()[:, order.to(case.device)]
    group = graph.edge_index[1] * len(graph.relations) + edge_type
    _, number, size = group.unique(return_inverse=True, return_counts=True)
    return _Edges(
        on_dgl.with_formats(dgl.graph((source, target), num_nodes=graph.num_nodes)),
        edge_type[order].to(case.device),
        size[number][order].double().reciprocal().unsqueeze(1).to(case.device, case.dtype),
    )


def reference(
    graph: Graph, bases: Tensor, coefficients: Tensor, weight: Tensor, bias: Tensor, x: Tensor
) -> Tensor:
    """Return x @ weight + bias + the sum over relations of (means over neighbours) @ W_r: [N, F].

    W_r is the sum of the bases [B, F, F] times the relation's coefficients, a row of [Q, B].
    """
    result = x @ weight + bias
    for relation, matrix in enumerate(torch.einsum("qb,bio->qio", coefficients, bases)):
        entries = graph.edge_index[:, graph.edge_type == relation]
        result = result + definitions.aggregate(entries, None, x, "mean") @ matrix
    return result


_operation = partial(
    operation,
    relational=True,
    graphs=("aifb",),
    reference=reference,
    reach=1,
    group="layers",
)
_pyg = partial(
    Call,
    run=lambda edges, layer, x: layer.layer(x, edges.graph, edges.edge_type),
    build=lambda case: _Edges(case.edge_index(), _edge_type(case)),
)

OPERATIONS = (
    _operation(
        "rgcn_conv",
        pyg=_pyg("RGCNConv, 30 bases", limits=(_FLOAT32, SCATTER_ADD)),
        sparse=Call(
            "RGCNConv on SparseTensor, 30 bases",
            lambda adjacency, layer, x: layer.layer(x, adjacency),
            (_FLOAT32,),
            lambda case: on_sparse.weighted(on_sparse.structure(case), _edge_type(case)),
        ),
        dgl=Call(
            "RelGraphConv on sorted edges, 30 bases",
            lambda edges, layer, x: layer.layer(edges.graph, x, edges.edge_type, edges.norm, presorted=True),
            (DGL_HALF,),
            _sorted_graph,
        ),
    ),
    _operation(
        "rgcn_conv_fast",
        pyg=_pyg("FastRGCNConv, 30 bases", limits=(SCATTER_ADD,)),
        sparse="FastRGCNConv gathers, whatever the form of the graph: see pyg",
        dgl="DGL has one such layer: see rgcn_conv",
    ),
)
