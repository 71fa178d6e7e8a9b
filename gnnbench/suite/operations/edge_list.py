"""Edge lists: sorting by both ends or by one, merging duplicates, and adding the reverse of each edge.

A list is int [2, M], sources and targets. A sorted list is ordered by source, then by target.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..annotations import Case, Graph, Tensor
from ..libraries import definitions, dgl, torch, torch_geometric, torch_sparse, utils
from ..limits import HALF, KEY_OVERFLOW, refuses
from ..operation import FORWARD, Call, operation
from ..platforms import Edges

_TO_SIMPLE = refuses("dgl.to_simple works on the CPU only", "cuda")
_SCATTER_ADD = refuses("dgl.to_simple does not sum half precision", HALF)


def shuffled(graph: Graph) -> Tensor:
    """Return all edges in a random order, the same each time: int64 [2, E]."""
    return graph.edge_index[:, torch.randperm(graph.num_edges, generator=torch.Generator().manual_seed(0))]


def with_duplicates(graph: Graph) -> Tensor:
    """Return three quarters of the edges in random order, and a third of these again: int64 [2, E]."""
    edges, twice = shuffled(graph), graph.num_edges // 4
    return torch.cat((edges[:, : graph.num_edges - twice], edges[:, :twice]), dim=1)


def one_direction(graph: Graph) -> Tensor:
    """Return the edges from a node to a node with a larger index: int64 [2, E / 2]."""
    source, target = graph.edge_index
    return graph.edge_index[:, source < target]


def listed(edges: Callable[[Graph], Tensor], case: Case) -> Edges:
    """Return the edge list that `edges` takes from the case's graph, in the case's index dtype."""
    return Edges(edges(case.graph).to(case.device, case.index_dtype), case.graph.num_nodes)


def dgl_graph(edges: Callable[[Graph], Tensor], case: Case) -> Any:
    """Return the edge list as a DGLGraph that has the COO format only, with edges in the list's order."""
    edge_index, num_nodes = listed(edges, case)
    return dgl.graph(tuple(edge_index), num_nodes=num_nodes)


def keys(edges: Tensor, num_nodes: int) -> Tensor:
    """Return a sort key for each edge, by which edges are sorted by source, then by target: int64 [M]."""
    return edges[0].long() * num_nodes + edges[1]


def edges_of(keys: Tensor, num_nodes: int) -> Tensor:
    """Return the edges that have these `keys`: int64 [2, M]."""
    return torch.stack((keys // num_nodes, keys % num_nodes))


def unchanged(output: Any, *_inputs: Any) -> Any:
    """Return an output that already has the form of the reference's output."""
    return output


def _edges_and_weights(output: Any, *_inputs: Any) -> Any:
    """Return the edges in a library's output, and their weights if there are any."""
    if isinstance(output, torch.Tensor) and output.is_sparse:
        return output.indices(), output.values()
    if hasattr(output, "edata"):
        edges, weight = torch.stack(output.edges()), output.edata.get("w")
    elif hasattr(output, "coo"):
        row, column, weight = output.coo()
        edges = torch.stack((row, column))
    else:
        return output
    return edges if weight is None else (edges, weight)


def _coalesce_dgl(graph: Any, weight: Tensor) -> Any:
    weighted = graph.local_var()
    weighted.edata["w"] = weight
    return dgl.to_simple(weighted, return_counts=None, copy_edata=True, aggregator="sum")


def _undirected_sparse_structure(case: Case) -> Any:
    edges = listed(one_direction, case)
    return torch_sparse.SparseTensor.from_edge_index(edges.edge_index, sparse_sizes=edges.size)


def _list_and_order(edges: Tensor, before: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
    """Return a library's sorted list, and the original list in the order that the library returned."""
    return _sort_targets(edges), _sort_targets(before[:, order.long()])


def _sort_targets(edges: Tensor) -> Tensor:
    """Sort the targets of each source in a list that is sorted by source; libraries do not sort them."""
    num_nodes = int(edges.max()) + 1
    return torch.stack((edges[0], keys(edges, num_nodes).sort().values % num_nodes))


def _sort_by_pyg_structure(case: Case) -> Any:
    edges = listed(shuffled, case)
    return torch_geometric.EdgeIndex(edges.edge_index, sparse_size=edges.size)


def _sort_by_torch(edges: Edges) -> tuple[Tensor, Tensor]:
    source, target = edges.edge_index
    source, order = torch.sort(source)
    return torch.stack((source, target.index_select(0, order))), order


def coalesce(graph: Graph, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distinct edges, sorted, and the sums of their weights."""
    distinct, number = keys(with_duplicates(graph), graph.num_nodes).unique(return_inverse=True)
    return edges_of(distinct, graph.num_nodes), definitions.sums(number, weight, len(distinct))


def to_undirected(graph: Graph) -> Tensor:
    """Return the edges of `one_direction` and their reverses, sorted."""
    edges = one_direction(graph)
    both = keys(torch.cat((edges, edges.flip(0)), dim=1), graph.num_nodes)
    return edges_of(both.unique(), graph.num_nodes)


def sort_edge_index(graph: Graph, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sorted edges and their weights."""
    ordered, order = keys(shuffled(graph), graph.num_nodes).sort()
    return edges_of(ordered, graph.num_nodes), weight[order]


def edge_index_sort_by(graph: Graph) -> tuple[Tensor, Tensor]:
    """Return the sorted edges, twice: see `_list_and_order`."""
    edges = edges_of(keys(graph.edge_index, graph.num_nodes).sort().values, graph.num_nodes)
    return edges, edges


def _calls(edges: Callable[[Graph], Tensor]) -> tuple[Callable[..., Call], Callable[..., Call]]:
    """Return functions that make calls on an edge list, and on a DGLGraph of the list."""
    on_list, on_graph = (partial(build, edges) for build in (listed, dgl_graph))
    call = partial(Call, result=_edges_and_weights)
    return partial(call, build=on_list), partial(call, build=on_graph)


_duplicates, _duplicates_dgl = _calls(with_duplicates)
_one_way, _one_way_dgl = _calls(one_direction)
_shuffled, _shuffled_dgl = _calls(shuffled)
_operation = partial(operation, with_pyg_lib=True, group="structure")

OPERATIONS = (
    _operation(
        "coalesce",
        pyg=_duplicates(
            "utils.coalesce",
            lambda edges, weight: utils.coalesce(edges.edge_index, weight, edges.num_nodes),
            (KEY_OVERFLOW,),
        ),
        sparse=_duplicates(
            "torch_sparse.coalesce",
            lambda edges, weight: torch_sparse.coalesce(edges.edge_index, weight, *edges.size),
        ),
        torch=_duplicates(
            "torch.sparse_coo_tensor, coalesce",
            lambda edges, weight: torch.sparse_coo_tensor(edges.edge_index, weight, edges.size).coalesce(),
        ),
        dgl=_duplicates_dgl("dgl.to_simple(aggregator='sum')", _coalesce_dgl, (_TO_SIMPLE, _SCATTER_ADD)),
        example=True,
        reference=coalesce,
    ),
    _operation(
        "to_undirected",
        pyg=_one_way(
            "utils.to_undirected",
            lambda edges: utils.to_undirected(edges.edge_index, num_nodes=edges.num_nodes),
            (KEY_OVERFLOW,),
        ),
        sparse=_one_way(
            "SparseTensor.to_symmetric",
            lambda adjacency: adjacency.to_symmetric(),
            build=_undirected_sparse_structure,
        ),
        dgl=_one_way_dgl("dgl.to_bidirected", "dgl.to_bidirected", (_TO_SIMPLE,)),
        directions=(FORWARD,),
        reference=to_undirected,
    ),
    _operation(
        "sort_edge_index",
        pyg=_shuffled(
            "utils.sort_edge_index",
            lambda edges, weight: utils.sort_edge_index(edges.edge_index, weight, edges.num_nodes),
            (KEY_OVERFLOW,),
        ),
        sparse=_shuffled(
            "SparseTensor.from_edge_index",
            lambda edges, weight: torch_sparse.SparseTensor.from_edge_index(
                edges.edge_index, weight, edges.size
            ),
        ),
        torch="torch.sort sorts by one end: see edge_index_sort_by, and coalesce",
        dgl="dgl.reorder_graph sorts by one end: see edge_index_sort_by",
        reference=sort_edge_index,
    ),
    _operation(
        "edge_index_sort_by",
        pyg=Call(
            "EdgeIndex.sort_by('row')",
            lambda edge_index: edge_index.sort_by("row"),
            build=_sort_by_pyg_structure,
            result=lambda output, graph: _list_and_order(
                output.values.as_tensor(), graph.as_tensor(), output.indices
            ),
        ),
        torch=_shuffled(
            "torch.sort, index_select",
            _sort_by_torch,
            result=lambda output, graph: _list_and_order(output[0], graph.edge_index, output[1]),
        ),
        dgl=_shuffled_dgl(
            "dgl.reorder_graph",
            lambda graph: dgl.reorder_graph(graph, edge_permute_algo="src"),
            result=lambda output, graph: _list_and_order(
                torch.stack(output.edges()), torch.stack(graph.edges()), output.edata[dgl.EID]
            ),
        ),
        sparse="a SparseTensor is sorted by both ends: see sort_edge_index",
        directions=(FORWARD,),
        reference=edge_index_sort_by,
    ),
)
