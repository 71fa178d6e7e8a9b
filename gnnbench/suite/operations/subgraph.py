"""Parts of a graph: edges among half of the nodes or between both halves, neighbourhoods, selected rows."""

from functools import partial
from typing import Any

from ..annotations import Case, Chosen, Graph, Tensor
from ..libraries import definitions, dgl, on_dgl, on_sparse, torch, torch_sparse, utils
from ..limits import refuses
from ..operation import FORWARD, FORWARD_BACKWARD, Call, operation
from .edge_list import keys, listed

SEEDS = 16
HOPS = 2

_COO = (
    refuses("the gradient of COO's index_select is not implemented", FORWARD_BACKWARD),
    refuses("COO's index_select takes int64 only", "int32"),
)
_MAPPING = refuses("utils.k_hop_subgraph writes int64 into a mapping of int32", "int32")
_ON_CPU = refuses("torch_sparse.saint_subgraph works on the CPU only", "cuda")


def random_nodes(graph: Graph, count: int) -> Tensor:
    """Return random nodes in random order, the same each time: int64 [count]."""
    return torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(0))[:count]


def half(graph: Graph) -> Tensor:
    """Return a random half of the nodes, ascending: int64 [N // 2]."""
    return random_nodes(graph, graph.num_nodes // 2).sort().values


def halves(graph: Graph) -> tuple[Tensor, Tensor]:
    """Return `half` and all other nodes, each ascending."""
    targets = half(graph)
    sources = torch.ones(graph.num_nodes, dtype=torch.bool)
    sources[targets] = False
    return targets, sources.nonzero().squeeze(1)


def seeds(graph: Graph) -> Tensor:
    """Return SEEDS random nodes, in random order."""
    return random_nodes(graph, SEEDS)


_TYPES = ("target", "source")
_by_target = partial(listed, lambda graph: graph.edge_index.flip(0))


def _subgraph_pyg(chosen: Chosen, weight: Tensor) -> tuple[Tensor, Tensor]:
    edge_index, num_nodes = chosen.graph
    return utils.subgraph(chosen.nodes, edge_index, weight, relabel_nodes=True, num_nodes=num_nodes)


def _bipartite_pyg(chosen: Chosen, weight: Tensor) -> tuple[Tensor, Tensor]:
    edge_index, num_nodes = chosen.graph
    targets, sources = chosen.nodes
    return utils.bipartite_subgraph(
        (sources, targets), edge_index, weight, relabel_nodes=True, size=(num_nodes, num_nodes)
    )


def _subgraph_sparse(chosen: Chosen, weight: Tensor) -> Any:
    part, _ = torch_sparse.saint_subgraph(on_sparse.weighted(chosen.graph, weight), chosen.nodes)
    return part


def _torch(chosen: Chosen, weight: Tensor) -> Tensor:
    targets, sources = chosen.nodes
    return _matrix(chosen, weight).index_select(0, targets).index_select(1, sources)


def _matrix(chosen: Chosen, weight: Tensor) -> Tensor:
    entries = chosen.graph
    return torch.sparse_coo_tensor(entries.edge_index, weight, entries.size, is_coalesced=True)


def _dgl_bipartite(case: Case) -> Any:
    """Return a graph whose edges lead from nodes of one type to nodes of another."""
    edges = {("source", "to", "target"): tuple(case.edge_index())}
    return on_dgl.with_formats(dgl.heterograph(edges, dict.fromkeys(_TYPES, case.graph.num_nodes)))


def _subgraph_dgl(chosen: Chosen, weight: Tensor) -> Any:
    weighted = chosen.graph.local_var()
    weighted.edata["w"] = weight
    part = dgl.node_subgraph(weighted, chosen.nodes)
    # DGL selects the weights when they are read.
    part.edata["w"] = part.edata["w"]
    return part


def _k_hop_pyg(chosen: Chosen) -> tuple[Tensor, ...]:
    edge_index, num_nodes = chosen.graph
    return utils.k_hop_subgraph(chosen.nodes, HOPS, edge_index, relabel_nodes=True, num_nodes=num_nodes)


def _k_hop_dgl(output: Any, *_inputs: Any) -> tuple[Tensor, ...]:
    part, position = output
    nodes = part.ndata[dgl.NID]
    return nodes, _by_source(torch.stack(part.edges()), len(nodes)), position


def _by_source(edges: Tensor, num_nodes: int) -> Tensor:
    """Return an edge list sorted by source, then target, because libraries return different orders."""
    return edges[:, keys(edges, num_nodes).argsort()]


def subgraph(graph: Graph, weight: Tensor) -> Tensor:
    """Return the matrix of the edges with both ends in `half`, renumbered: COO [target, source]."""
    part, edges = _induced(graph, half(graph))
    return definitions.matrix(part, part.edge_index, weight[edges])


def bipartite_subgraph(graph: Graph, weight: Tensor) -> Tensor:
    """Return the matrix of the edges from the other half to `half`, renumbered: COO [target, source]."""
    ends = halves(graph)
    target, source = torch.full((2, graph.num_nodes), -1)
    for numbers, nodes in zip((target, source), ends, strict=True):
        numbers[nodes] = torch.arange(len(nodes))
    entries = torch.stack((target[graph.edge_index[1]], source[graph.edge_index[0]]))
    edges = (entries >= 0).all(dim=0)
    size = tuple(map(len, ends))
    return torch.sparse_coo_tensor(entries[:, edges], weight[edges], size).coalesce()


def k_hop_subgraph(graph: Graph) -> tuple[Tensor, Tensor, Tensor]:
    """Return the part of the graph whose nodes reach a seed by a path of at most HOPS edges.

    Returns the nodes, ascending [n]; all edges among them, renumbered and sorted [2, m]; the seeds' new
    indices.
    """
    source, target = graph.edge_index
    reached = torch.zeros(graph.num_nodes, dtype=torch.bool)
    reached[seeds(graph)] = True
    for _ in range(HOPS):
        reached[source[reached[target]]] = True
    nodes = reached.nonzero().squeeze(1)
    part, _ = _induced(graph, nodes)
    return nodes, _by_source(part.edge_index, len(nodes)), torch.searchsorted(nodes, seeds(graph))


def _induced(graph: Graph, nodes: Tensor) -> tuple[Graph, Tensor]:
    """Return the part of a graph with these nodes, and the positions of its edges in the graph."""
    source, target = torch.isin(graph.edge_index, nodes)
    edges = (source & target).nonzero().squeeze(1)
    return graph.part(nodes, edges), edges


def shuffled_half(graph: Graph) -> Tensor:
    """Return a random half of the nodes, in random order: int64 [N // 2]."""
    return random_nodes(graph, graph.num_nodes // 2)


def _nodes(case: Case) -> Tensor:
    return shuffled_half(case.graph).to(case.device, case.index_dtype)


def mask(graph: Graph) -> Tensor:
    """Return whether each node is in `shuffled_half`: bool [N]."""
    return torch.zeros(graph.num_nodes, dtype=torch.bool).index_fill(0, shuffled_half(graph), True)


def _mask(case: Case) -> Tensor:
    return mask(case.graph).to(case.device)


_operation = partial(operation, reads_all=False, group="structure")
_selection = partial(
    _operation, elsewhere="features are PyTorch tensors on this platform, too: see torch", linear=True
)
_on_edges = partial(Call, build="numbered_edges")
_on_coo = partial(Call, run=_torch, limits=_COO, build=_by_target)

OPERATIONS = (
    _operation(
        "subgraph",
        pyg=_on_edges("utils.subgraph(relabel_nodes=True)", _subgraph_pyg, nodes=half),
        sparse=Call(
            "torch_sparse.saint_subgraph",
            _subgraph_sparse,
            (_ON_CPU,),
            lambda case: on_sparse.structure(case).fill_cache_(),
            nodes=half,
        ),
        torch=_on_coo("COO.index_select, twice", nodes=lambda graph: (half(graph),) * 2),
        dgl=Call("dgl.node_subgraph", _subgraph_dgl, nodes=half),
        reference=subgraph,
    ),
    _operation(
        "bipartite_subgraph",
        pyg=_on_edges("utils.bipartite_subgraph(relabel_nodes=True)", _bipartite_pyg, nodes=halves),
        torch=_on_coo("COO.index_select of rows, then of columns", nodes=halves),
        dgl=Call(
            "dgl.node_subgraph of two types of nodes",
            _subgraph_dgl,
            build=_dgl_bipartite,
            nodes=lambda graph: dict(zip(_TYPES, halves(graph), strict=True)),
        ),
        sparse="torch_sparse.saint_subgraph takes one set of nodes: see subgraph",
        reference=bipartite_subgraph,
    ),
    _operation(
        "k_hop_subgraph",
        pyg=_on_edges(
            "utils.k_hop_subgraph",
            _k_hop_pyg,
            (_MAPPING,),
            result=lambda output, *_: (output[0], _by_source(output[1], len(output[0])), output[2]),
            nodes=seeds,
        ),
        dgl=Call(
            "dgl.khop_in_subgraph",
            lambda chosen: dgl.khop_in_subgraph(chosen.graph, chosen.nodes, HOPS),
            result=_k_hop_dgl,
            nodes=seeds,
        ),
        sparse="torch_sparse.sample_adj takes one hop only: see subgraph",
        directions=(FORWARD,),
        reference=k_hop_subgraph,
    ),
    _selection(
        "mask_select",
        pyg=Call("utils.mask_select", lambda mask, x: utils.mask_select(x, 0, mask), build=_mask),
        torch=Call("x[mask]", lambda mask, x: x[mask], build=_mask),
        reference=lambda graph, x: x[mask(graph)],
    ),
    _selection(
        "index_select",
        pyg=Call("utils.select", lambda nodes, x: utils.select(x, nodes, 0), build=_nodes),
        torch=Call("torch.index_select", lambda nodes, x: torch.index_select(x, 0, nodes), build=_nodes),
        reference=lambda graph, x: x[shuffled_half(graph)],
    ),
)
