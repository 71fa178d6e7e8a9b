"""The relational graph convolution (Schlichtkrull et al., ESWC 2018), with a weight for each relation."""

from functools import partial
from typing import Any, NamedTuple

from ..annotations import Case, Graph, Layer, Module, Tensor
from ..libraries import definitions, dgl, inputs, network, on_dgl, on_sparse, torch, torch_geometric
from ..limits import DGL_HALF, HALF, SCATTER_ADD, refuses
from ..operation import Call, Formula, Kernel, operation

BASES = 30
"""Matrices of which each relation's weight is a sum, as in PyG's example of AIFB."""

_FLOAT32 = refuses("RGCNConv returns float32 for half precision", HALF)


class _Edges(NamedTuple):
    """edge_index or a DGLGraph, with the type of each edge, int64 [E].

    `norm` is 1 / the number of edges with the same relation and target, [E, 1]; None if the layer divides.
    """

    graph: Any
    edge_type: Tensor
    norm: Tensor | None = None


def _layer(case: Case, layer: Module, *names: str) -> Layer:
    """Return the layer with parameters that are equal on every platform.

    `names` are those of the bases [B, F, F], the coefficients [Q, B], the weight of the node itself [F, F]
    and the bias [F].
    """
    width = case.spec.hidden
    bases = inputs.pattern(BASES * width, width).reshape(BASES, width, width) / width**0.5
    coefficients = inputs.pattern(len(case.graph.relations), BASES) / BASES**0.5
    values = (bases, coefficients, *case.weights(width, width))
    network.filled(case, layer, dict(zip(names, values, strict=True)))
    return network.Layer(layer, map(layer.get_parameter, names))


def _pyg_layer(case: Case, name: str) -> Layer:
    width = case.spec.hidden
    layer = getattr(torch_geometric.nn, name)(width, width, len(case.graph.relations), num_bases=BASES)
    return _layer(case, layer, "weight", "comp", "root", "bias")


def _pyg(name: str) -> Kernel:
    def build(case: Case) -> tuple[_Edges, Layer]:
        assert case.graph.edge_type is not None
        edge_type = case.graph.edge_type.to(case.device, copy=True)
        return _Edges(case.edge_index(), edge_type), _pyg_layer(case, name)

    return Kernel(build, lambda edges, layer, x: layer.layer(x, edges.graph, edges.edge_type))


def _sparse_structure(case: Case) -> tuple[Any, Layer]:
    assert case.graph.edge_type is not None
    adjacency = on_sparse.weighted(on_sparse.structure(case), case.graph.edge_type.to(case.device, copy=True))
    return adjacency, _pyg_layer(case, "RGCNConv")


def _dgl_structure(case: Case) -> tuple[_Edges, Layer]:
    graph, width = case.graph, case.spec.hidden
    assert graph.edge_type is not None
    order = graph.edge_type.argsort(stable=True)
    source, target = case.edge_index()[:, order.to(case.device)]
    group = graph.edge_index[1] * len(graph.relations) + graph.edge_type
    _, number, size = group.unique(return_inverse=True, return_counts=True)
    edges = _Edges(
        on_dgl.with_formats(dgl.graph((source, target), num_nodes=graph.num_nodes)),
        graph.edge_type[order].to(case.device),
        size[number][order].double().reciprocal().unsqueeze(1).to(case.device, case.dtype),
    )
    layer = dgl.nn.RelGraphConv(width, width, len(graph.relations), regularizer="basis", num_bases=BASES)
    return edges, _layer(case, layer, "linear_r.W", "linear_r.coeff", "loop_weight", "h_bias")


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


_WORK = Formula(
    # Graph, x, output, parameters, then gradients; sums, divisions and bias, and products.
    "i (E + V) + p s (2 N F + B F F + Q B + F F + F)",
    "p (E + V + N) F + 2 (2 p - 1) (Q B + V + N) F F",
    {"B": f"{BASES}"},
)


_operation = partial(operation, graphs=("aifb",), group="layers", least_work=_WORK, reach=1)

OPERATIONS = (
    _operation(
        "rgcn_conv",
        pyg=Call("RGCNConv, 30 bases", make=partial(_pyg, "RGCNConv"), limits=(_FLOAT32, SCATTER_ADD)),
        sparse=Call(
            "RGCNConv on SparseTensor, 30 bases",
            lambda adjacency, layer, x: layer.layer(x, adjacency),
            (_FLOAT32,),
            _sparse_structure,
        ),
        dgl=Call(
            "RelGraphConv on sorted edges, 30 bases",
            lambda edges, layer, x: layer.layer(edges.graph, x, edges.edge_type, edges.norm, presorted=True),
            (DGL_HALF,),
            _dgl_structure,
        ),
        relational=True,
        reference=reference,
    ),
    _operation(
        "rgcn_conv_fast",
        pyg=Call("FastRGCNConv, 30 bases", make=partial(_pyg, "FastRGCNConv"), limits=(SCATTER_ADD,)),
        sparse="FastRGCNConv gathers, whatever the form of the graph: see pyg",
        dgl="DGL has one such layer: see rgcn_conv",
        relational=True,
        reference=reference,
    ),
)
