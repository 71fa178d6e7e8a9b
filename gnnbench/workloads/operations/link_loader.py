"""Loaders for link prediction: edges, as many drawn pairs of nodes, and the neighbours of all their ends."""

from collections.abc import Callable
from typing import Any

from ..annotations import Case, Graph, Hop, Tensor
from ..libraries import dgl, on_dgl, pyg_data, pyg_loader, sampled, torch
from ..loading import Loading
from ..operation import Call
from . import blocks
from .neighbor_loader import BATCHES, REPEATS, hops_of_data, quietly, seed_worker
from .neighbors import BATCH, FAN_OUTS, INT64_ONLY, ON_CPU, sampling


def entries(graph: Graph) -> Tensor:
    """Return random entries for BATCHES batches, of BATCH or fewer, the same each time: int64 [n]."""
    order = torch.randperm(graph.num_edges, generator=torch.Generator().manual_seed(0))
    return order[: BATCHES * min(BATCH, graph.num_edges // BATCHES)]


def loading(case: Case) -> Loading:
    """Return the loader of a case's operation and platform."""
    workers = int(case.spec.operation.split("_")[-2])
    return Loading(_pyg(case, workers) if case.spec.platform == "pyg" else _dgl(case, workers))


def _pyg(case: Case, workers: int) -> Any:
    data = pyg_data.Data(x=case.node_features(), edge_index=case.edge_index())
    chosen = entries(case.graph)
    return quietly(
        pyg_loader.LinkNeighborLoader,
        data,
        list(FAN_OUTS),
        edge_label_index=data.edge_index[:, chosen.repeat(REPEATS)],
        neg_sampling="binary",
        batch_size=len(chosen) // BATCHES,
        num_workers=workers,
    )


def _dgl(case: Case, workers: int) -> Any:
    graph = on_dgl.structure(case)
    graph.ndata["x"], chosen = case.node_features(), entries(case.graph)
    sampler = dgl.dataloading.as_edge_prediction_sampler(
        dgl.dataloading.NeighborSampler(list(FAN_OUTS[::-1]), prefetch_node_feats=["x"]),
        negative_sampler=dgl.dataloading.negative_sampler.Uniform(1),
    )
    return dgl.dataloading.DataLoader(
        graph,
        chosen.to(case.device, case.index_dtype).repeat(REPEATS),
        sampler,
        batch_size=len(chosen) // BATCHES,
        num_workers=workers,
        worker_init_fn=seed_worker,
    )


def _parts_of_data(batch: Any) -> tuple[Tensor, Tensor, list[Hop], Tensor]:
    nodes, edges = batch.n_id, batch.edge_label_index
    sampled.require(
        bool((batch.edge_label == (torch.arange(edges.size(1)) < len(batch.input_id))).all()),
        "pairs are labelled as if they were edges, or edges as pairs",
    )
    hops = hops_of_data(batch, len(edges.unique()))[1]
    return nodes, nodes[edges], hops, batch.x


def _parts_of_blocks(batch: Any) -> tuple[Tensor, Tensor, list[Hop], Tensor]:
    reached, positive, negative, found = batch
    ends = positive.ndata[dgl.NID]
    edges = torch.cat([ends[torch.stack(each.edges())] for each in (positive, negative)], dim=1)
    hops = sampled.hops_of_blocks(sampled.whole(ends), found)
    return sampled.whole(reached), sampled.whole(edges), hops, found[0].srcdata["x"]


def checked(case: Case) -> Callable[..., Tensor]:
    """Return a function that checks each batch, and returns how many edges and pairs each has.

    Pairs may be edges: neither library excludes them.
    """
    parts_of = {"pyg": _parts_of_data, "dgl": _parts_of_blocks}[case.spec.platform]

    def result(batches: list[Any], *_inputs: Any) -> Tensor:
        graph, counts = case.graph, []
        own = graph.edge_index[:, entries(graph)]
        for batch in batches:
            reached, edges, hops, x = parts_of(batch)
            positive, known = (
                pair[0] * graph.num_nodes + pair[1] for pair in (edges[:, : edges.size(1) // 2], own)
            )
            sampled.require(bool(torch.isin(positive, known).all()), "an edge is none of the loader's")
            sampled.require(len(positive.unique()) == len(positive), "an edge comes twice")
            ends = hops[0].expanded.unique().equal(edges.unique())
            sampled.require(ends, "the nodes whose neighbours are drawn are not the ends of edges and pairs")
            for hop, fan_out in zip(hops, FAN_OUTS, strict=True):
                sampled.require_hop(graph, hop, fan_out)
            features = graph.x[reached].to(x.dtype)
            sampled.require(x.cpu().equal(features), "the features are those of other nodes")
            counts.append(edges.size(1))
        return torch.tensor(counts, device=case.device)

    return result


def reference(graph: Graph) -> Tensor:
    """Return the number of edges and pairs of each batch: int64 [BATCHES]."""
    return torch.full((BATCHES,), 2 * len(entries(graph)) // BATCHES)


OPERATIONS = tuple(
    sampling(
        f"link_loader_{workers}_workers",
        {
            "pyg": Call(
                f"LinkNeighborLoader([15, 10], neg_sampling='binary'), {workers} workers",
                limits=(INT64_ONLY, ON_CPU),
                one_of=("pyg_lib", "torch_sparse"),
            ),
            "dgl": Call(
                f"DataLoader of as_edge_prediction_sampler, {workers} workers",
                limits=(ON_CPU, *([] if workers else [blocks.FUSED])),
            ),
        },
        {"sparse": "LinkNeighborLoader takes edge_index and SparseTensor alike: see pyg"},
        reference,
        default=False,
        batches=BATCHES,
    )
    for workers in (0, 2)
)
