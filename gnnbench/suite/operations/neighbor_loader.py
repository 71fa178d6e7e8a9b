"""Loaders, with and without workers, that draw neighbours for a batch of nodes or edges, and fetch features.

The nodes or edges of a batch are its seeds.
"""

import sys
from typing import Any

from ..annotations import Case, Tensor
from ..libraries import dgl, pyg_data, pyg_loader, sampled, torch
from ..limits import avoids
from ..loading import Loading, quietly
from ..operation import Call, Operation
from .epoch_sage_batches import LIBRARIES
from .neighbors import BATCH, FAN_OUTS, ON_CPU, by_pyg, sampling

BATCHES = 8
"""Number of batches that a call takes."""
REPEATS = 1000
"""How often a loader repeats its nodes, so that it does not end while it is timed."""

_FUSED = avoids(
    "with several threads DGL's NeighborSampler numbers nodes wrongly in int32, from its second batch on",
    "int32",
)


def batches_of(count: int) -> Tensor:
    """Return fixed random indices below `count`, for BATCHES batches of at most BATCH each: int64 [n]."""
    order = torch.randperm(count, generator=torch.Generator().manual_seed(0))
    return order[: BATCHES * min(BATCH, count // BATCHES)]


def workers(case: Case) -> int:
    """Return how many workers a loader has, as its operation's name says."""
    return int(case.spec.operation.split("_")[-2])


def _library(case: Case) -> Any:
    return LIBRARIES["dgl" if case.spec.platform == "dgl" else "pyg"]


def loading(case: Case) -> Loading:
    """Return the loader of a case's operation and platform."""
    nodes = batches_of(case.graph.num_nodes)
    size = len(nodes) // BATCHES
    return Loading(_library(case).loader(case, nodes.repeat(REPEATS), FAN_OUTS, size, workers(case)))


def link_loading(case: Case) -> Loading:
    """Return the loader of edges, of as many random pairs of nodes, and of neighbours of all their ends."""
    data = pyg_data.Data(x=case.node_features(), edge_index=case.edge_index())
    chosen = batches_of(case.graph.num_edges)
    loader = quietly(
        pyg_loader.LinkNeighborLoader,
        data,
        list(FAN_OUTS),
        edge_label_index=data.edge_index[:, chosen.repeat(REPEATS)],
        neg_sampling="binary",
        batch_size=len(chosen) // BATCHES,
        num_workers=workers(case),
    )
    return Loading(loader)


def seed() -> None:
    """Seed the generators that PyG's and DGL's samplers draw from."""
    torch.default_generator.manual_seed(sampled.SEED)
    if "dgl" in sys.modules:
        dgl.seed(sampled.SEED)


def take(loading: Loading) -> list[Any]:
    """Take BATCHES batches of a running loader."""
    seed()
    return loading.take(BATCHES)


def first(loading: Loading) -> list[Any]:
    """Start a loader, take its first batch, and end its workers."""
    seed()
    batches = loading.take(1)
    loading.close()
    return batches


def check(case: Case, batches: list[Any], *_inputs: Any) -> Tensor:
    """Check each batch; return the number of seeds in each."""
    library, graph, counts = _library(case), case.graph, []
    nodes = batches_of(graph.num_nodes)
    for batch in library.batches(batches, torch.device("cpu")):
        draw = library.draw_of(batch)
        seeds = draw.seeds
        sampled.require(bool(torch.isin(seeds, nodes).all()), "a seed is not among the loader's nodes")
        sampled.require(len(seeds.unique()) == len(seeds), "a seed comes twice")
        for hop, fan_out in zip(draw.hops, FAN_OUTS, strict=True):
            sampled.require_hop(graph, hop, fan_out)
        sampled.require_rows(batch.x, graph.x, draw.nodes, "features")
        sampled.require_rows(batch.y, graph.y, seeds, "labels")
        counts.append(len(seeds))
    return torch.tensor(counts, device=case.device)


def check_links(case: Case, batches: list[Any], *_inputs: Any) -> Tensor:
    """Check each batch; return each one's number of edges and pairs. A random pair may be an edge."""
    graph = case.graph
    candidates, counts = graph.edge_index[:, batches_of(graph.num_edges)], []
    for batch in batches:
        edges, label = batch.n_id[batch.edge_label_index], batch.edge_label
        count = len(batch.input_id)
        is_edge = torch.arange(edges.size(1)) < count
        sampled.require(label.equal(is_edge.to(label)), "pairs are labelled as if they were edges")
        keys, possible = (ends[0] * graph.num_nodes + ends[1] for ends in (edges[:, :count], candidates))
        sampled.require(torch.isin(keys, possible).all(), "an edge is not among the loader's edges")
        sampled.require(len(keys.unique()) == count, "an edge comes twice")
        ends = edges.unique()
        hops = sampled.hops_of_list(len(ends), batch.n_id, *batch.edge_index, batch.e_id)
        same = hops[0].expanded.sort().values.equal(ends)
        sampled.require(same, "the nodes whose neighbours are drawn are not the ends of edges and pairs")
        for hop, fan_out in zip(hops, FAN_OUTS, strict=True):
            sampled.require_hop(graph, hop, fan_out)
        sampled.require_rows(batch.x, graph.x, batch.n_id, "features")
        counts.append(edges.size(1))
    return torch.tensor(counts)


def _loader(name: str, workers: int, batches: int) -> Operation:
    with_workers = f"{workers} workers{', first batch' if batches == 1 else ''}"
    return sampling(
        f"{name}_{workers}_workers",
        pyg=by_pyg(f"NeighborLoader([15, 10]), {with_workers}"),
        dgl=Call(
            f"dgl.dataloading.DataLoader, {with_workers}",
            limits=(ON_CPU, *([] if workers else [_FUSED])),
        ),
        sparse="NeighborLoader takes edge_index and SparseTensor alike: see pyg",
        reference=lambda graph: torch.full((batches,), len(batches_of(graph.num_nodes)) // BATCHES),
        default=batches > 1,
        with_pyg_lib=True,
    )


OPERATIONS = (
    *(
        _loader(name, workers, batches)
        for name, batches in (("neighbor_loader", BATCHES), ("neighbor_loader_first", 1))
        for workers in (0, 2)
    ),
    *(
        sampling(
            f"link_loader_{workers}_workers",
            pyg=by_pyg(f"LinkNeighborLoader([15, 10], neg_sampling='binary'), {workers} workers"),
            sparse="LinkNeighborLoader takes edge_index and SparseTensor alike: see pyg",
            dgl="DGL draws neighbours for edges as it does for nodes: see neighbor_loader",
            reference=lambda graph: torch.full((BATCHES,), 2 * len(batches_of(graph.num_edges)) // BATCHES),
            default=False,
            with_pyg_lib=True,
        )
        for workers in (0, 2)
    ),
)
