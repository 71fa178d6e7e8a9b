"""Sorting an edge list, by both ends or by one."""

from functools import partial
from typing import Any

from ..annotations import Case, Edges, Graph, Tensor
from ..libraries import dgl, torch, torch_geometric, torch_sparse, utils
from ..limits import KEY_OVERFLOW
from ..operation import FORWARD, Call, Formula, operation
from .edge_list import dgl_graph, edges_of, keys, listed, shuffled, sparse_list, unchanged


def _list_and_order(edges: Tensor, before: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sorted list, and the list before in the order that the library returned."""
    return _targets_sorted(edges), _targets_sorted(before[:, order.long()])


def _targets_sorted(edges: Tensor) -> Tensor:
    """Return a list sorted by source with the targets of each source sorted: libraries leave them as is."""
    num_nodes = int(edges.max()) + 1
    return torch.stack((edges[0], keys(edges, num_nodes).sort().values % num_nodes))


def _sort_by_pyg_structure(case: Case) -> Any:
    edges = listed(shuffled, case)
    return torch_geometric.EdgeIndex(edges.edge_index, sparse_size=edges.size)


def _sort_by_torch(edges: Edges) -> tuple[Tensor, Tensor]:
    source, target = edges.edge_index
    source, order = torch.sort(source)
    return torch.stack((source, target.index_select(0, order))), order


def sort_edge_index(graph: Graph, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sorted edges and their weights."""
    ordered, order = keys(shuffled(graph), graph.num_nodes).sort()
    return edges_of(ordered, graph.num_nodes), weight[order]


def edge_index_sort_by(graph: Graph) -> tuple[Tensor, Tensor]:
    """Return the sorted edges, twice: see `_list_and_order`."""
    edges = edges_of(keys(graph.edge_index, graph.num_nodes).sort().values, graph.num_nodes)
    return edges, edges


_operation = partial(operation, with_pyg_lib=True, group="structure")

OPERATIONS = (
    _operation(
        "sort_edge_index",
        pyg=Call(
            "utils.sort_edge_index",
            lambda edges, weight: utils.sort_edge_index(edges.edge_index, weight, edges.num_nodes),
            (KEY_OVERFLOW,),
            partial(listed, shuffled),
            result=unchanged,
        ),
        sparse=Call(
            "SparseTensor.from_edge_index",
            lambda edges, weight: torch_sparse.SparseTensor.from_edge_index(
                edges.edge_index, weight, edges.size
            ),
            build=partial(listed, shuffled),
            result=sparse_list,
        ),
        torch="torch.sort sorts by one end: see edge_index_sort_by, and coalesce",
        dgl="dgl.reorder_graph sorts by one end: see edge_index_sort_by",
        reference=sort_edge_index,
        least_work=Formula("2 i E + G(E) + p s 2 E", "0"),  # the list in, the sorted list out, weights
    ),
    _operation(
        "edge_index_sort_by",
        pyg=Call(
            "EdgeIndex.sort_by('row')",
            lambda edge_index: edge_index.sort_by("row"),
            build=_sort_by_pyg_structure,
            result=lambda output, given: _list_and_order(
                output.values.as_tensor(), given.as_tensor(), output.indices
            ),
        ),
        torch=Call(
            "torch.sort, index_select",
            _sort_by_torch,
            build=partial(listed, shuffled),
            result=lambda output, given: _list_and_order(output[0], given.edge_index, output[1]),
        ),
        dgl=Call(
            "dgl.reorder_graph",
            lambda graph: dgl.reorder_graph(graph, edge_permute_algo="src"),
            build=partial(dgl_graph, shuffled),
            result=lambda output, given: _list_and_order(
                torch.stack(output.edges()), torch.stack(given.edges()), output.edata[dgl.EID]
            ),
        ),
        sparse="a SparseTensor is sorted by both ends: see sort_edge_index",
        directions=(FORWARD,),
        reference=edge_index_sort_by,
        least_work=Formula("5 i E", "0"),  # the list in, the sorted list and the order out
    ),
)
