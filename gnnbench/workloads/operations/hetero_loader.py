"""Loaders of batches of a graph with several types of nodes: neighbours by relation, or nodes by type."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..annotations import Case, Graph, Tensor
from ..libraries import dgl, on_dgl, pyg_data, pyg_loader, sampled, torch
from ..loading import Loading
from ..operation import Call, Operation
from . import blocks
from .hetero import MAG, edges_of
from .neighbor_loader import BATCHES, REPEATS, quietly, seed_worker
from .neighbors import BATCH, FAN_OUTS, INT64_ONLY, ON_CPU, sampling

if TYPE_CHECKING:
    from ..graphs.relation import Relation

SAMPLES = (512, 512)
"""Nodes of each type that HGTLoader draws at the first hop, and at the second."""
_MOST_NEIGHBORS = 50
"""Of a node with more HGTLoader takes as many; torch_sparse 0.6.18 numbers the entries of these wrongly."""


class _Batch(NamedTuple):
    """A batch with the numbers that nodes have in the graph, and entries among those of their relation."""

    seeds: Tensor
    """int64 [n]."""
    nodes: Tensor
    """int64 [m]."""
    hops: "list[dict[Relation, Any]]"
    """The edges of each relation, as `Hop`; of HGTLoader all are in one."""
    x: Tensor
    """Features of the nodes, [m, F]."""
    y: Tensor
    """Labels of the seeds."""


def _first(graph: Graph) -> dict[str, int]:
    """Return the first node of each type."""
    sizes = graph.type_sizes
    return dict(zip(sizes, torch.tensor([0, *sizes.values()]).cumsum(0).tolist(), strict=False))


def size(graph: Graph) -> int:
    """Return the nodes of a batch: BATCH, fewer where there are too few of their type for BATCHES of them."""
    return min(BATCH, graph.type_sizes[graph.node_types[0]] // BATCHES)


def nodes(graph: Graph) -> Tensor:
    """Return random nodes of the first type for BATCHES batches, the same each time: int64 [n]."""
    own = graph.type_sizes[graph.node_types[0]]
    return torch.randperm(own, generator=torch.Generator().manual_seed(0))[: BATCHES * size(graph)]


def _features(case: Case) -> Iterable[tuple[str, Tensor]]:
    sizes = case.graph.type_sizes
    return zip(sizes, case.node_features().split(list(sizes.values())), strict=True)


def loading(case: Case) -> Loading:
    """Return the loader of a case's operation and platform."""
    workers = int(case.spec.operation.split("_")[-2])
    return Loading(_pyg(case, workers) if case.spec.platform == "pyg" else _dgl(case, workers))


def _pyg(case: Case, workers: int) -> Any:
    graph, data = case.graph, pyg_data.HeteroData()
    for name, x in _features(case):
        data[name].x = x
    data[graph.node_types[0]].y = graph.y[: graph.type_sizes[graph.node_types[0]]].clone()
    for relation, edges in edges_of(case).items():
        data[tuple(relation)].edge_index = edges
    is_hgt = case.spec.operation.startswith("hgt")
    return quietly(
        pyg_loader.HGTLoader if is_hgt else pyg_loader.NeighborLoader,
        data,
        list(SAMPLES if is_hgt else FAN_OUTS),
        input_nodes=(graph.node_types[0], nodes(graph).repeat(REPEATS)),
        batch_size=size(graph),
        num_workers=workers,
    )


def _dgl(case: Case, workers: int) -> Any:
    graph, kind = case.graph, case.graph.node_types[0]
    edges = {tuple(relation): tuple(ends) for relation, ends in edges_of(case).items()}
    structure = on_dgl.with_formats(dgl.heterograph(edges, num_nodes_dict=graph.type_sizes))
    for name, x in _features(case):
        structure.nodes[name].data["x"] = x
    structure.nodes[kind].data["y"] = graph.y[: graph.type_sizes[kind]].clone()
    sampler = dgl.dataloading.NeighborSampler(
        list(FAN_OUTS[::-1]),
        prefetch_node_feats={name: ["x"] for name in graph.node_types},
        prefetch_labels={kind: ["y"]},
    )
    return dgl.dataloading.DataLoader(
        structure,
        {kind: nodes(graph).to(case.index_dtype).repeat(REPEATS)},
        sampler,
        batch_size=size(graph),
        num_workers=workers,
        worker_init_fn=seed_worker,
    )


def _of_data(graph: Graph, batch: Any) -> _Batch:
    """Read a batch of PyG; its edges are of no certain hop."""
    kind, first = graph.node_types[0], _first(graph)
    here = {name: batch[name].n_id + start for name, start in first.items()}
    seeds, edges = here[kind][: batch[kind].batch_size], {}
    for relation in graph.relations:
        own = batch[tuple(relation)]
        source, target = own.edge_index
        edges[relation] = sampled.Hop(
            here[relation.source][source], here[relation.target][target], own.e_id, seeds
        )
    x = torch.cat([batch[name].x for name in here])
    return _Batch(seeds, torch.cat(list(here.values())), [edges], x, batch[kind].y[: len(seeds)])


def _in_hops(graph: Graph, batch: _Batch) -> _Batch:
    """Divide the edges of NeighborLoader, which draws of each node once: at the hop after it was reached."""
    (edges,), hops = batch.hops, []
    depth = torch.full((graph.num_nodes,), -1)
    depth[batch.seeds] = 0
    for hop in range(len(FAN_OUTS)):
        expanded, drawn = (depth == hop).nonzero().squeeze(1), {}
        for relation, own in edges.items():
            mine = depth[own.target] == hop
            drawn[relation] = sampled.Hop(*(part[mine] for part in own[:3]), expanded)
        reached = torch.cat([each.source for each in drawn.values()])
        depth[reached[depth[reached] < 0]] = hop + 1
        hops.append(drawn)
    counts = [sum(len(own.entry) for hop in each for own in hop.values()) for each in (hops, batch.hops)]
    sampled.require(counts[0] == counts[1], "an edge ends at a node that is not reached before the last hop")
    reached = (depth >= 0).nonzero().squeeze(1)
    sampled.require(reached.equal(batch.nodes.sort().values), "a node is neither a seed nor a neighbour")
    return batch._replace(hops=hops)


def _of_blocks(graph: Graph, batch: Any) -> _Batch:
    """Read a batch of DGL, which draws at each hop of all nodes of the last one."""
    kind, first, hops = graph.node_types[0], _first(graph), []
    # DGL gives tensors instead of dictionaries where there is one type of nodes.
    reached, seeds = (each if isinstance(each, dict) else {kind: each} for each in batch[:2])
    found = batch[2]

    def numbers(nodes: Any) -> dict[str, Tensor]:
        return {name: sampled.whole(nodes[name].data[dgl.NID]) + start for name, start in first.items()}

    nodes = {kind: sampled.whole(seeds[kind])}
    for block in reversed(found):
        sources, targets, drawn = numbers(block.srcnodes), numbers(block.dstnodes), {}
        for name, own in targets.items():
            sampled.require(own.equal(nodes.get(name, own[:0])), "a target is no source of the next block")
            sampled.require(sources[name][: len(own)].equal(own), "sources do not begin with targets")
        for relation in graph.relations:
            source, target = map(sampled.whole, block.edges(etype=tuple(relation)))
            drawn[relation] = sampled.Hop(
                sources[relation.source][source],
                targets[relation.target][target],
                sampled.whole(block.edges[tuple(relation)].data[dgl.EID]),
                torch.cat(list(targets.values())),
            )
        hops.append(drawn)
        nodes = sources
    x = torch.cat([found[0].srcnodes[name].data["x"] for name in first])
    own = torch.cat([sampled.whole(reached[name]) + start for name, start in first.items()])
    return _Batch(sampled.whole(seeds[kind]), own, hops, x, found[-1].dstnodes[kind].data["y"])


def _require_hgt(graph: Graph, batch: _Batch, relations: "Mapping[Relation, Graph]") -> None:
    """Check that the edges are those among the nodes, and that each type has as many nodes as asked for."""
    inside, seed, near, certain = torch.zeros((4, graph.num_nodes), dtype=torch.bool)
    inside[batch.nodes], seed[batch.seeds] = True, True
    for relation, own in relations.items():
        source, target = own.edge_index
        hop, is_few = batch.hops[0][relation], sampled.degrees(own) <= _MOST_NEIGHBORS
        of_few = is_few[hop.target]
        within = (inside[source] & inside[target] & is_few[target]).nonzero().squeeze(1)
        entry = hop.entry[of_few]
        sampled.require(entry.sort().values.equal(within), "the edges are not all those among the nodes")
        ends = hop.source * graph.num_nodes + hop.target
        sampled.require(len(ends.unique()) == len(ends), "an edge was drawn twice")
        sampled.require(bool(sampled.has_edges(own, hop.source, hop.target).all()), "an edge is none")
        sampled.require(
            own.edge_index[:, entry].equal(torch.stack((hop.source, hop.target))[:, of_few]),
            "an edge does not have the ends of its entry",
        )
        near[source[inside[target]]] = True
        certain[source[seed[target] & is_few[target]]] = True
    sampled.require(bool((near | seed)[inside].all()), "a node is neither a seed nor a neighbour")
    for name, start in _first(graph).items():
        part = slice(start, start + graph.type_sizes[name])
        drawn = int((inside & ~seed)[part].sum())
        least = min(SAMPLES[0], int((certain & ~seed)[part].sum()))
        sampled.require(least <= drawn <= sum(SAMPLES), f"{drawn} nodes of type {name} were drawn")


def checked(case: Case) -> Callable[..., Tensor]:
    """Return a function that checks each batch, and returns how many seeds each has."""
    graph, is_hgt = case.graph, case.spec.operation.startswith("hgt")
    relations = {
        relation: replace(graph, edge_index=graph.edge_index[:, graph.edge_type == index])
        for index, relation in enumerate(graph.relations)
    }

    def read(batch: Any) -> _Batch:
        if case.spec.platform == "dgl":
            return _of_blocks(graph, batch)
        found = _of_data(graph, batch)
        return found if is_hgt else _in_hops(graph, found)

    def result(batches: list[Any], *_inputs: Any) -> Tensor:
        counts = []
        for batch in map(read, batches):
            seeds, reached, hops, x, y = batch
            sampled.require(
                bool(torch.isin(seeds, nodes(graph)).all()), "a seed is none of the loader's nodes"
            )
            sampled.require(len(seeds.unique()) == len(seeds), "a seed comes twice")
            sampled.require(len(reached.unique()) == len(reached), "a node has two numbers")
            if is_hgt:
                _require_hgt(graph, batch, relations)
            for hop, fan_out in () if is_hgt else zip(hops, FAN_OUTS, strict=True):
                for relation, own in relations.items():
                    sampled.require_hop(own, hop[relation], fan_out)
            sampled.require(x.equal(graph.x[reached].to(x.dtype)), "the features are those of other nodes")
            sampled.require(y.equal(graph.y[seeds]), "the labels are those of other nodes")
            counts.append(len(seeds))
        return torch.tensor(counts)

    return result


def reference(graph: Graph) -> Tensor:
    """Return the number of seeds of each batch: int64 [BATCHES]."""
    return torch.full((BATCHES,), size(graph))


def _loader(name: str, calls: Mapping[str, Call], absent: Mapping[str, str]) -> Operation:
    absent = {"sparse": "it takes edge_index and SparseTensor alike: see pyg", **absent}
    return replace(
        sampling(name, calls, absent, reference, default=False, graphs=(MAG,), batches=BATCHES),
        relational=True,
    )


OPERATIONS = (
    *(
        _loader(
            f"hetero_loader_{workers}_workers",
            {
                "pyg": Call(
                    f"NeighborLoader([15, 10]) of HeteroData, {workers} workers",
                    limits=(INT64_ONLY, ON_CPU),
                    one_of=("pyg_lib", "torch_sparse"),
                ),
                "dgl": Call(
                    f"dgl.dataloading.DataLoader of a heterograph, {workers} workers",
                    limits=(ON_CPU, *([] if workers else [blocks.FUSED])),
                ),
            },
            {},
        )
        for workers in (0, 2)
    ),
    *(
        _loader(
            f"hgt_loader_{workers}_workers",
            {
                "pyg": Call(
                    f"HGTLoader([512, 512]), {workers} workers",
                    limits=(INT64_ONLY, ON_CPU),
                    one_of=("torch_sparse",),
                )
            },
            {"dgl": "DGL has no sampler of nodes by type: see hetero_loader"},
        )
        for workers in (0, 2)
    ),
)
