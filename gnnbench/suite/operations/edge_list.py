"""Edge lists: merging duplicates, and adding the reverse of each edge.

A list is int [2, M], sources and targets. A sorted list is ordered by source, then by target.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..annotations import Case, Graph, Tensor
from ..libraries import definitions, dgl, torch, torch_sparse, utils
from ..limits import HALF, KEY_OVERFLOW, refuses
from ..operation import FORWARD, Call, Formula, operation
from ..platforms import Edges

_TO_SIMPLE = refuses("dgl.to_simple works on the CPU only", "cuda")
_SCATTER_ADD = refuses("dgl.to_simple does not sum half precision", HALF)


def shuffled(graph: Graph) -> Tensor:
    """Return all edges in a random order, the same each time: int64 [2, E]."""
    return graph.edge_index[:, torch.randperm(graph.num_edges, generator=torch.Generator().manual_seed(0))]


def with_duplicates(graph: Graph) -> Tensor:
    """Return three quarters of the edges in random order, a third of them twice: int64 [2, E]."""
    edges, twice = shuffled(graph), graph.num_edges // 4
    return torch.cat((edges[:, : graph.num_edges - twice], edges[:, :twice]), dim=1)


def one_direction(graph: Graph) -> Tensor:
    """Return the edges whose source is less than the target: int64 [2, E / 2]."""
    source, target = graph.edge_index
    return graph.edge_index[:, source < target]


def listed(edges: Callable[[Graph], Tensor], case: Case) -> Edges:
    """Return a list of the case's graph, with the case's index dtype."""
    return Edges(edges(case.graph).to(case.device, case.index_dtype), case.graph.num_nodes)


def dgl_graph(edges: Callable[[Graph], Tensor], case: Case) -> Any:
    """Return a DGLGraph in COO only; edges keep the order of the list."""
    edge_index, num_nodes = listed(edges, case)
    return dgl.graph(tuple(edge_index), num_nodes=num_nodes)


def keys(edges: Tensor, num_nodes: int) -> Tensor:
    """Return numbers that are in the order of a sorted list: int64 [M]."""
    return edges[0].long() * num_nodes + edges[1]


def edges_of(keys: Tensor, num_nodes: int) -> Tensor:
    """Return the edges of `keys`: int64 [2, M]."""
    return torch.stack((keys // num_nodes, keys % num_nodes))


def unchanged(output: Any, *_inputs: Any) -> Any:
    """Return an output that has the form of the reference's."""
    return output


def sparse_list(output: Any, *_inputs: Any) -> tuple[Tensor, ...]:
    """Return the edges of a SparseTensor, and its values if it has any."""
    row, column, value = output.coo()
    edges = torch.stack((row, column))
    return (edges,) if value is None else (edges, value)


def _coalesce_dgl(graph: Any, weight: Tensor) -> Any:
    weighted = graph.local_var()
    weighted.edata["w"] = weight
    return dgl.to_simple(weighted, return_counts=None, copy_edata=True, aggregator="sum")


def _undirected_sparse_structure(case: Case) -> Any:
    edges = listed(one_direction, case)
    return torch_sparse.SparseTensor.from_edge_index(edges.edge_index, sparse_sizes=edges.size)


def coalesce(graph: Graph, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distinct edges, sorted, and the sums of their weights."""
    distinct, number = keys(with_duplicates(graph), graph.num_nodes).unique(return_inverse=True)
    return edges_of(distinct, graph.num_nodes), definitions.sums(number, weight, len(distinct))


def to_undirected(graph: Graph) -> Tensor:
    """Return the edges of `one_direction` and their reverse, sorted."""
    edges = one_direction(graph)
    both = keys(torch.cat((edges, edges.flip(0)), dim=1), graph.num_nodes)
    return edges_of(both.unique(), graph.num_nodes)


_operation = partial(operation, with_pyg_lib=True, group="structure")

OPERATIONS = (
    _operation(
        "coalesce",
        pyg=Call(
            "utils.coalesce",
            lambda edges, weight: utils.coalesce(edges.edge_index, weight, edges.num_nodes),
            (KEY_OVERFLOW,),
            partial(listed, with_duplicates),
            result=unchanged,
        ),
        sparse=Call(
            "torch_sparse.coalesce",
            lambda edges, weight: torch_sparse.coalesce(edges.edge_index, weight, *edges.size),
            build=partial(listed, with_duplicates),
            result=unchanged,
        ),
        torch=Call(
            "torch.sparse_coo_tensor, coalesce",
            lambda edges, weight: torch.sparse_coo_tensor(edges.edge_index, weight, edges.size).coalesce(),
            build=partial(listed, with_duplicates),
            result=lambda output, *_: (output.indices(), output.values()),
        ),
        dgl=Call(
            "dgl.to_simple(aggregator='sum')",
            _coalesce_dgl,
            (_TO_SIMPLE, _SCATTER_ADD),
            partial(dgl_graph, with_duplicates),
            result=lambda output, *_: (torch.stack(output.edges()), output.edata["w"]),
        ),
        example=True,
        reference=coalesce,
        # The list in, distinct edges out, weights.
        least_work=Formula("2 i E + G(E - E // 4) + p s (E + E - E // 4)", "E"),
    ),
    _operation(
        "to_undirected",
        pyg=Call(
            "utils.to_undirected",
            lambda edges: utils.to_undirected(edges.edge_index, num_nodes=edges.num_nodes),
            (KEY_OVERFLOW,),
            partial(listed, one_direction),
            result=unchanged,
        ),
        sparse=Call(
            "SparseTensor.to_symmetric",
            lambda adjacency: adjacency.to_symmetric(),
            build=_undirected_sparse_structure,
            result=sparse_list,
        ),
        dgl=Call(
            "dgl.to_bidirected",
            "dgl.to_bidirected",
            (_TO_SIMPLE,),
            partial(dgl_graph, one_direction),
            result=lambda output, *_: torch.stack(output.edges()),
        ),
        directions=(FORWARD,),
        reference=to_undirected,
        least_work=Formula("G(E // 2) + G(E)", "0"),  # half of the edges in, all out
    ),
)
