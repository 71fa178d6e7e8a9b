"""DGL's blocks of given edges."""

from typing import Any

from ..annotations import Case, Chosen, DGLGraph, Graph, Tensor
from ..libraries import dgl, on_dgl, torch
from ..operation import Call
from .neighbors import sampling
from .subgraph import drawn


def _in_edges(case: Case) -> DGLGraph:
    nodes = block_targets(case.graph).to(case.device, case.index_dtype)
    return dgl.in_subgraph(on_dgl.structure(case), nodes)


def _block(block: Any, _batch: Chosen) -> tuple[Tensor, ...]:
    sources, targets = block.srcdata[dgl.NID], block.dstdata[dgl.NID]
    source, target = block.edges()
    ends = torch.stack((sources[source.long()], targets[target.long()]))
    # The order of the other nodes varies from call to call with several threads.
    return targets, sources[: len(targets)], sources.sort().values, _sorted(ends)


def block_targets(graph: Graph) -> Tensor:
    """Return a random eighth of the nodes, in random order: int64 [N // 8]."""
    return drawn(graph, graph.num_nodes // 8)


def block(graph: Graph) -> tuple[Tensor, ...]:
    """Return the block of all edges to `block_targets`, with the graph's numbers of nodes.

    Targets [n]; the first n sources, which are the targets; all sources, ascending; edges [2, m], sorted.
    """
    targets = block_targets(graph)
    edges = graph.edge_index[:, torch.isin(graph.edge_index[1], targets)]
    return targets, targets, torch.cat((edges[0], targets)).unique(), _sorted(edges)


def _sorted(edges: Tensor) -> Tensor:
    """Return edges [2, m] by target, then source."""
    edges = edges[:, edges[0].argsort(stable=True)]
    return edges[:, edges[1].argsort(stable=True)]


OPERATIONS = (
    sampling(
        "to_block",
        dgl=Call(
            "dgl.to_block",
            lambda batch: dgl.to_block(batch.graph, batch.nodes),
            build=_in_edges,
            result=_block,
            nodes=block_targets,
        ),
        pyg="NeighborSampler numbers nodes while it draws: see sample_neighbors",
        sparse="torch_sparse numbers nodes while it draws: see sample_neighbors",
        reference=block,
    ),
)
