"""Loaders on a graph with several types of nodes, which draw neighbours per relation or nodes per type."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..annotations import Case, Graph, Hop, Tensor
from ..libraries import pyg_data, pyg_loader, sampled, torch
from ..loading import Loading, quietly
from .hetero import MAG, edges_of, first_nodes
from .neighbor_loader import BATCHES, REPEATS, batches_of, workers
from .neighbors import FAN_OUTS, by_pyg, sampling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graphs.published import Relation

SAMPLES = (512, 512)
"""Number of nodes of each type that HGTLoader draws at the first hop, and at the second."""
_MOST_NEIGHBORS = 50
"""HGTLoader takes at most this many neighbours; if there are more, torch_sparse 0.6.18 misnumbers entries."""


def nodes(graph: Graph) -> Tensor:
    """Return random nodes of the first type for BATCHES batches: int64 [n]."""
    return batches_of(graph.type_sizes[graph.node_types[0]])


def loading(case: Case) -> Loading:
    """Return the loader of a case's operation."""
    graph, data = case.graph, pyg_data.HeteroData()
    sizes, seeds = graph.type_sizes, nodes(graph)
    for kind, x, y in zip(
        sizes, *(t.split([*sizes.values()]) for t in (case.node_features(), graph.y)), strict=True
    ):
        data[kind].x, data[kind].y = x, y
    for relation, edges in edges_of(case).items():
        data[tuple(relation)].edge_index = edges
    is_hgt = case.spec.operation.startswith("hgt")
    loader = quietly(
        pyg_loader.HGTLoader if is_hgt else pyg_loader.NeighborLoader,
        data,
        list(SAMPLES if is_hgt else FAN_OUTS),
        input_nodes=(graph.node_types[0], seeds.repeat(REPEATS)),
        batch_size=len(seeds) // BATCHES,
        num_workers=workers(case),
    )
    return Loading(loader)


def check(case: Case, batches: list[Any], *_inputs: Any) -> Tensor:
    """Check each batch; return the number of seeds in each."""
    graph, kind, starts = case.graph, case.graph.node_types[0], first_nodes(case.graph)
    require = _require_hgt if case.spec.operation.startswith("hgt") else _require_neighbors
    relations = {
        relation: replace(graph, edge_index=graph.edge_index[:, graph.edge_type == index])
        for index, relation in enumerate(graph.relations)
    }
    for batch in batches:
        numbers = {name: batch[name].n_id + start for name, start in starts.items()}
        seeds, members = numbers[kind][: batch[kind].batch_size], torch.cat([*numbers.values()])
        edges = {}
        for relation in relations:
            source, target = batch[tuple(relation)].edge_index
            ends = numbers[relation.source][source], numbers[relation.target][target]
            edges[relation] = sampled.Hop(*ends, batch[tuple(relation)].e_id, seeds)
        sampled.require(bool(torch.isin(seeds, nodes(graph)).all()), "a seed is not among the loader's nodes")
        sampled.require(len(members.unique()) == len(members), "a node is numbered twice")
        require(graph, members, edges, relations)
        x, y = (torch.cat([batch[name][part] for name in numbers]) for part in "xy")
        sampled.require_rows(x, graph.x, members, "features")
        sampled.require_rows(y, graph.y, members, "labels")
    return torch.tensor([batch[kind].batch_size for batch in batches])


def _require_neighbors(
    graph: Graph, members: Tensor, edges: "Mapping[Relation, Hop]", relations: "Mapping[Relation, Graph]"
) -> None:
    """Check a NeighborLoader draw: each relation expands a node once, at the hop after it was reached."""
    depth, count = torch.full((graph.num_nodes,), -1), 0
    depth[next(iter(edges.values())).expanded] = 0
    for hop, fan_out in enumerate(FAN_OUTS):
        expanded, sources = (depth == hop).nonzero().squeeze(1), []
        for relation, links in edges.items():
            at_hop = depth[links.target] == hop
            draw = sampled.Hop(*(part[at_hop] for part in links[:3]), expanded)
            sampled.require_hop(relations[relation], draw, fan_out)
            sources.append(draw.source)
            count += len(draw.entry)
        new = torch.cat(sources)
        depth[new[depth[new] < 0]] = hop + 1
    sampled.require(count == sum(len(links.entry) for links in edges.values()), "an edge belongs to no hop")
    nodes = (depth >= 0).nonzero().squeeze(1)
    sampled.require(nodes.equal(members.sort().values), "a node is neither a seed nor a neighbour")


def _require_hgt(
    graph: Graph, members: Tensor, edges: "Mapping[Relation, Hop]", relations: "Mapping[Relation, Graph]"
) -> None:
    """Check a draw of HGTLoader: all edges among its nodes, and the right number of nodes of each type."""
    inside, seed, near, certain = torch.zeros((4, graph.num_nodes), dtype=torch.bool)
    inside[members] = True
    for relation, typed in relations.items():
        (source, target), hop = typed.edge_index, edges[relation]
        seed[hop.expanded] = True
        is_few = sampled.degrees(typed) <= _MOST_NEIGHBORS
        of_few, ends = is_few[hop.target], torch.stack(hop[:2])
        within = (inside[source] & inside[target] & is_few[target]).nonzero().squeeze(1)
        entry = hop.entry[of_few]
        sampled.require(entry.sort().values.equal(within), "the edges are not all those among the nodes")
        sampled.require(ends.unique(dim=1).shape == ends.shape, "an edge was drawn twice")
        sampled.require(bool(sampled.has_edges(typed, *ends).all()), "an edge is not in the graph")
        same = typed.edge_index[:, entry].equal(ends[:, of_few])
        sampled.require(same, "an edge does not have the ends of its entry")
        near[source[inside[target]]] = True
        certain[source[seed[target] & is_few[target]]] = True
    sampled.require(bool((near | seed)[members].all()), "a node is neither a seed nor a neighbour")
    for name, start in first_nodes(graph).items():
        part = slice(start, start + graph.type_sizes[name])
        count, least = (int((mask & ~seed)[part].sum()) for mask in (inside, certain))
        low, high = min(SAMPLES[0], least), sum(SAMPLES)
        message = f"{count} nodes of type {name} were drawn, not {low} to {high}"
        sampled.require(low <= count <= high, message)


OPERATIONS = tuple(
    sampling(
        f"{name}_loader_{count}_workers",
        pyg=by_pyg(f"{text}, {count} workers"),
        sparse="it takes edge_index and SparseTensor alike: see pyg",
        dgl=absent,
        reference=lambda graph: torch.full((BATCHES,), len(nodes(graph)) // BATCHES),
        default=False,
        graphs=(MAG,),
        with_pyg_lib=name == "hetero",
        relational=True,
    )
    for name, text, absent in (
        (
            "hetero",
            "NeighborLoader([15, 10]) of HeteroData",
            "DGL's DataLoader treats heterographs like other graphs: see neighbor_loader",
        ),
        ("hgt", "HGTLoader([512, 512])", "DGL has no sampler of nodes by type"),
    )
    for count in (0, 2)
)
