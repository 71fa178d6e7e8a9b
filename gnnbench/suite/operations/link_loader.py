"""Loaders for link prediction: edges, as many drawn pairs of nodes, and the neighbours of all their ends."""

from typing import Any

from ..annotations import Case, Graph, Tensor
from ..libraries import pyg_data, pyg_loader, sampled, torch
from ..loading import Loading, quietly
from .neighbor_loader import BATCHES, REPEATS, batches_of, hops_of_data
from .neighbors import FAN_OUTS, by_pyg, sampling


def loading(case: Case) -> Loading:
    """Return the loader of a case's operation."""
    data = pyg_data.Data(x=case.node_features(), edge_index=case.edge_index())
    chosen = batches_of(case.graph.num_edges)
    loader = quietly(
        pyg_loader.LinkNeighborLoader,
        data,
        list(FAN_OUTS),
        edge_label_index=data.edge_index[:, chosen.repeat(REPEATS)],
        neg_sampling="binary",
        batch_size=len(chosen) // BATCHES,
        num_workers=int(case.spec.operation.split("_")[-2]),
    )
    return Loading(loader)


def checked(case: Case, batches: list[Any], *_inputs: Any) -> Tensor:
    """Check each batch, and return how many edges and pairs each has.

    Pairs may be edges: the library does not exclude them.
    """
    graph = case.graph
    own, counts = graph.edge_index[:, batches_of(graph.num_edges)], []
    for batch in batches:
        edges, label = batch.n_id[batch.edge_label_index], batch.edge_label
        count = len(batch.input_id)
        is_edge = torch.arange(edges.size(1)) < count
        sampled.require(label.equal(is_edge.to(label)), "pairs are labelled as if they were edges")
        given, known = (pair[0] * graph.num_nodes + pair[1] for pair in (edges[:, :count], own))
        sampled.require(bool(torch.isin(given, known).all()), "an edge is none of the loader's")
        sampled.require(len(given.unique()) == count, "an edge comes twice")
        ends = edges.unique()
        reached, hops, x, _ = hops_of_data(batch, len(ends))
        same = hops[0].expanded.sort().values.equal(ends)
        sampled.require(same, "the nodes whose neighbours are drawn are not the ends of edges and pairs")
        for hop, fan_out in zip(hops, FAN_OUTS, strict=True):
            sampled.require_hop(graph, hop, fan_out)
        sampled.require_rows(x, graph.x, reached, "features")
        counts.append(edges.size(1))
    return torch.tensor(counts)


def reference(graph: Graph) -> Tensor:
    """Return the number of edges and pairs of each batch: int64 [BATCHES]."""
    return torch.full((BATCHES,), 2 * len(batches_of(graph.num_edges)) // BATCHES)


OPERATIONS = tuple(
    sampling(
        f"link_loader_{workers}_workers",
        pyg=by_pyg(f"LinkNeighborLoader([15, 10], neg_sampling='binary'), {workers} workers"),
        sparse="LinkNeighborLoader takes edge_index and SparseTensor alike: see pyg",
        dgl="as_edge_prediction_sampler draws for edges as for other nodes: see neighbor_loader",
        reference=reference,
        default=False,
        with_pyg_lib=True,
    )
    for workers in (0, 2)
)
