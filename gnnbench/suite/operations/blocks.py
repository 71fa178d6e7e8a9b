"""DGL's blocks: drawing them, and making one of given edges."""

from typing import Any

from ..annotations import Case, Chosen, DGLGraph, Graph, Tensor
from ..libraries import dgl, on_dgl, sampled, torch
from ..limits import avoids
from ..operation import Call
from . import neighbors
from .neighbors import sampling, seeds
from .subgraph import drawn

FUSED = avoids(
    "with several threads DGL's NeighborSampler numbers nodes wrongly in int32, from its second batch on",
    "int32",
)


def _sampler(case: Case) -> tuple[Any, DGLGraph]:
    return dgl.dataloading.NeighborSampler(list(neighbors.FAN_OUTS[::-1])), on_dgl.structure(case)


def _sample(batch: Chosen) -> Any:
    dgl.seed(sampled.SEED)
    sampler, graph = batch.graph
    return sampler.sample(graph, batch.nodes)


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
        "sample_blocks",
        dgl=Call(
            "dgl.dataloading.NeighborSampler([10, 15])",
            _sample,
            (FUSED,),
            _sampler,
            lambda output, batch: sampled.hops_of_blocks(sampled.whole(batch.nodes), output[2]),
            nodes=seeds,
        ),
        pyg="PyG's sample has both hops in one graph: see sample_neighbors",
        sparse="torch_sparse's sample has both hops in one graph: see sample_neighbors",
        default=False,  # neighbor_loader_0_workers does it too
    ),
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
