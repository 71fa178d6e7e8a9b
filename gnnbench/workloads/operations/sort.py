"""Sorting an edge list, by both ends or by one."""

from functools import partial
from typing import TYPE_CHECKING, Any

from ..least_work import Symbols, Work
from ..limits import KEY_OVERFLOW, SPARSE_TENSOR
from ..operation import Call, Kernel, Operation
from ..spec import FORWARD
from .edge_list import EdgeList, dgl_graph, edges_of, keys, listed, shuffled, sparse_list, unchanged

if TYPE_CHECKING:
    from torch import Tensor

    from ..case import Case
    from ..graphs.graph import Graph


def _sort_pyg() -> Kernel:
    from torch_geometric import utils

    def run(edges: EdgeList, weight: "Tensor") -> "tuple[Tensor, Tensor]":
        return utils.sort_edge_index(edges.edge_index, weight, edges.num_nodes)

    return Kernel(partial(listed, shuffled), run, unchanged)


def _sort_sparse() -> Kernel:
    import torch_sparse

    def run(edges: EdgeList, weight: "Tensor") -> Any:
        return torch_sparse.SparseTensor.from_edge_index(edges.edge_index, weight, edges.size)

    return Kernel(partial(listed, shuffled), run, sparse_list)


def _list_and_order(found: "Tensor", given: "Tensor", order: "Tensor") -> "tuple[Tensor, Tensor]":
    """Return the list that was found, and the given list in the order that was found."""
    return _targets_sorted(found), _targets_sorted(given[:, order.long()])


def _targets_sorted(edges: "Tensor") -> "Tensor":
    """Return a list sorted by source with the targets of each source sorted: libraries leave them as is."""
    import torch

    num_nodes = int(edges.max()) + 1
    return torch.stack((edges[0], keys(edges, num_nodes).sort().values % num_nodes))


def _sort_by_pyg() -> Kernel:
    from torch_geometric import EdgeIndex

    def build(case: "Case") -> Any:
        edges = listed(shuffled, case)
        return EdgeIndex(edges.edge_index, sparse_size=edges.size)

    return Kernel(
        build,
        lambda edge_index: edge_index.sort_by("row"),
        lambda output, given: _list_and_order(output.values.as_tensor(), given.as_tensor(), output.indices),
    )


def _sort_by_torch() -> Kernel:
    import torch

    def run(edges: EdgeList) -> "tuple[Tensor, Tensor]":
        source, target = edges.edge_index
        source, order = torch.sort(source)
        return torch.stack((source, target.index_select(0, order))), order

    return Kernel(
        partial(listed, shuffled),
        run,
        lambda output, given: _list_and_order(output[0], given.edge_index, output[1]),
    )


def _sort_by_dgl() -> Kernel:
    import torch

    from ..platforms.dgl import dgl

    return Kernel(
        partial(dgl_graph, shuffled),
        lambda graph: dgl.reorder_graph(graph, edge_permute_algo="src"),
        lambda output, given: _list_and_order(
            torch.stack(output.edges()), torch.stack(given.edges()), output.edata[dgl.EID]
        ),
    )


def sort_edge_index(graph: "Graph", weight: "Tensor") -> "tuple[Tensor, Tensor]":
    """Return the sorted edges and their weights."""
    ordered, order = keys(shuffled(graph), graph.num_nodes).sort()
    return edges_of(ordered, graph.num_nodes), weight[order]


def edge_index_sort_by(graph: "Graph") -> "tuple[Tensor, Tensor]":
    """Return the sorted edges, twice: see `_list_and_order`."""
    edges = edges_of(keys(graph.edge_index, graph.num_nodes).sort().values, graph.num_nodes)
    return edges, edges


def sort_work(m: Symbols) -> Work:
    """Bytes 2 i E + G(E) + p s 2 E: the list in, the sorted list out, weights. Flops 0."""
    return Work(2 * m.i * m.E + m.G(m.E) + m.p * m.s * 2 * m.E, 0)


def sort_by_work(m: Symbols) -> Work:
    """Bytes 5 i E: the list in, the sorted list and the order out. Flops 0."""
    return Work(5 * m.i * m.E, 0)


OPERATIONS = (
    Operation(
        "sort_edge_index",
        {
            "pyg": Call("utils.sort_edge_index", _sort_pyg, (KEY_OVERFLOW,)),
            "sparse": Call("SparseTensor.from_edge_index", _sort_sparse, (SPARSE_TENSOR,)),
        },
        {
            "torch": "torch.sort sorts by one end: see edge_index_sort_by, and coalesce",
            "dgl": "dgl.reorder_graph sorts by one end: see edge_index_sort_by",
        },
        reference=sort_edge_index,
        least_work=sort_work,
        group="structure",
    ),
    Operation(
        "edge_index_sort_by",
        {
            "pyg": Call("EdgeIndex.sort_by('row')", _sort_by_pyg),
            "torch": Call("torch.sort, index_select", _sort_by_torch),
            "dgl": Call("dgl.reorder_graph", _sort_by_dgl),
        },
        {"sparse": "a SparseTensor is sorted by both ends: see sort_edge_index"},
        directions=(FORWARD,),
        reference=edge_index_sort_by,
        least_work=sort_by_work,
        group="structure",
    ),
)
