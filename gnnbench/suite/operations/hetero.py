"""Message passing with several types of nodes and edges: one convolution per relation, or sums over all."""

from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from ..annotations import Case, Graph, Layer, Tensor
from ..libraries import definitions, dgl, network, on_dgl, on_sparse, pyg_nn, torch, torch_sparse
from ..limits import DGL_HALF, SCATTER_ADD
from ..operation import Call, Operation, operation
from . import spmm

if TYPE_CHECKING:
    from ..graphs.published import Relation

MAG = "ogbn-mag-hetero:synthetic@0.01"
"""The graph of these operations; it has 422,222 entries."""


class _Typed(NamedTuple):
    """A graph: edge_index or SparseTensor by relation, or a DGLGraph. `sizes` has node counts by type."""

    graph: Any
    sizes: dict[str, int]


def _run(apply: Callable[..., dict[str, Tensor]], typed: _Typed, *inputs: Any) -> Tensor:
    """Split features [N, F] by type of node, call `apply`, and join its outputs: [N, F].

    `apply` takes the graph, the layer if there is one, and features by type; it returns outputs by type.
    """
    *layers, x = inputs
    features = dict(zip(typed.sizes, x.split(list(typed.sizes.values())), strict=True))
    results = apply(typed.graph, *layers, features)
    return torch.cat([results[name] for name in typed.sizes])


def first_nodes(graph: Graph) -> dict[str, int]:
    """Return the index of the first node of each type."""
    sizes = graph.type_sizes
    return dict(zip(sizes, accumulate(sizes.values(), initial=0), strict=False))


def edges_of(case: Case) -> "dict[Relation, Tensor]":
    """Return sources and targets of each relation, int [2, M], as indices among the nodes of their type."""
    graph = case.graph
    assert graph.edge_type is not None
    starts, edges = first_nodes(graph), {}
    for index, relation in enumerate(graph.relations):
        start = torch.tensor([[starts[relation.source]], [starts[relation.target]]])
        ends = graph.edge_index[:, graph.edge_type == index] - start
        edges[relation] = ends.to(case.device, case.index_dtype)
    return edges


def layer(case: Case) -> Layer:
    """Return a layer of one SAGEConv for each relation, with parameters that are equal on every platform."""
    width, relations = case.spec.hidden, case.graph.relations
    if case.spec.platform == "dgl":
        convolutions = {tuple(relation): dgl.nn.SAGEConv(width, width, "mean") for relation in relations}
        layer = dgl.nn.HeteroGraphConv(convolutions, aggregate="sum")
    else:
        convolutions = {relation: pyg_nn.SAGEConv(width, width) for relation in relations}
        layer = pyg_nn.HeteroConv(convolutions, aggr="sum")
    return network.Layer(network.with_random_parameters(case, layer), layer.parameters())


def _on_pyg(relations: "dict[Relation, Any]", layer: Layer, features: dict[str, Tensor]) -> Any:
    return layer.layer(features, relations)


def _on_dgl(graph: Any, layer: Layer, features: dict[str, Tensor]) -> Any:
    return layer.layer(graph, features)


def _sparse_graph(case: Case) -> _Typed:
    sizes, relations = case.graph.type_sizes, {}
    for relation, (source, target) in edges_of(case).items():
        shape = (sizes[relation.target], sizes[relation.source])
        adjacency = torch_sparse.SparseTensor(row=target, col=source, sparse_sizes=shape, is_sorted=True)
        relations[relation] = on_sparse.ordered(adjacency)
    return _Typed(relations, sizes)


def _dgl_graph(case: Case, *, empty: bool = False) -> _Typed:
    """Return the heterograph; without `empty`, leave out empty relations, which update_all refuses."""
    sizes = case.graph.type_sizes
    edges = {
        tuple(relation): tuple(ends) for relation, ends in edges_of(case).items() if empty or ends.size(1)
    }
    return _Typed(on_dgl.with_formats(dgl.heterograph(edges, num_nodes_dict=sizes)), sizes)


def _update_all(graph: Any, features: dict[str, Tensor], *, multi: bool) -> dict[str, Tensor]:
    message, reduce = dgl.function.copy_u("x", "message"), dgl.function.sum("message", "out")
    with graph.local_scope():
        for name, x in features.items():
            graph.nodes[name].data["x"] = x
        if multi:
            graph.multi_update_all(dict.fromkeys(graph.canonical_etypes, (message, reduce)), "sum")
        else:
            graph.update_all(message, reduce)
        return {name: graph.nodes[name].data["out"] for name in features}


def convolutions(graph: Graph, *tensors: Tensor) -> Tensor:
    """Return each node's sum over the relations that end at its type: [N, F].

    The summand of a relation is (mean over neighbours) @ W + x @ W' + b (GraphSAGE; Hamilton et al., NeurIPS
    2017). `tensors` are W and W' of each relation, then all b, then x.
    """
    *parameters, x = tensors
    count = len(graph.relations)
    result = x.new_zeros(x.shape)
    for index, relation in enumerate(graph.relations):
        weight, of_node, bias = *parameters[2 * index : 2 * index + 2], parameters[2 * count + index]
        entries = graph.edge_index[:, graph.edge_type == index]
        ends = x @ of_node + bias
        if graph.node_type is not None:
            ends = ends * (graph.node_type == graph.node_types.index(relation.target)).unsqueeze(1)
        result = result + definitions.aggregate(entries, None, x, "mean") @ weight + ends
    return result


def _sums(name: str, text: str, *, multi: bool) -> Operation:
    return operation(
        name,
        dgl=Call(text, partial(_run, partial(_update_all, multi=multi)), (DGL_HALF,), _dgl_graph),
        group="layers",
        graphs=("aifb", MAG),
        relational=True,
        reference=spmm.sums,
        linear=True,
    )


OPERATIONS = (
    operation(
        "hetero_conv",
        pyg=Call(
            "HeteroConv of SAGEConv",
            partial(_run, _on_pyg),
            (SCATTER_ADD,),
            lambda case: _Typed(edges_of(case), case.graph.type_sizes),
        ),
        sparse=Call("HeteroConv of SAGEConv on SparseTensor", partial(_run, _on_pyg), build=_sparse_graph),
        dgl=Call(
            "HeteroGraphConv of SAGEConv",
            partial(_run, _on_dgl),
            (DGL_HALF,),
            partial(_dgl_graph, empty=True),
        ),
        group="layers",
        graphs=(MAG,),
        relational=True,
        reference=convolutions,
        reach=1,
    ),
    _sums("hetero_update_all", "update_all(copy_u, sum) on a heterograph", multi=False),
    _sums("hetero_multi_update_all", "multi_update_all(copy_u, sum; sum)", multi=True),
)
