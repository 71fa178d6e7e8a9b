"""Parts of a graph as batches: those of METIS for Cluster-GCN, those on random walks for GraphSAINT.

METIS leaves few edges between parts. GraphSAINT (Zeng et al., ICLR 2020) takes the walks' nodes.
"""

import contextlib
import io
from typing import Any

from ..annotations import Case, Graph, Tensor
from ..libraries import dgl, on_dgl, pyg_data, pyg_loader, sampled, torch
from ..limits import refuses
from ..operation import Call, Kernel
from .neighbors import ON_CPU, sampling

PARTS = 8
IMBALANCE = 1.05
"""Nodes of the largest part, as a multiple of the mean; METIS tries to reach 1.03."""
ROOTS = 500
LENGTH = 2
"""Steps of each walk."""

_METIS = refuses("DGL's METIS takes int64 only", "int32")
_ROOTS = refuses("DGL's SAINTSampler draws int64 only", "int32")


def _metis(graph: Any) -> Tensor:
    with contextlib.redirect_stdout(io.StringIO()):  # DGL prints its times
        return dgl.metis_partition_assignment(graph, PARTS)


def checked_parts(case: Case, parts: Tensor, _graph: Any) -> Tensor:
    """Check that each node has a part and none is too large, and return the number of parts."""
    part = sampled.whole(parts)
    sampled.require(len(part) == case.graph.num_nodes, "a node has no part")
    sizes = part.bincount(minlength=PARTS)
    most = max(IMBALANCE * len(part) / PARTS, len(part) / PARTS + 2)
    sampled.require(int(sizes.max()) <= most, "a part is too large")
    source, target = case.graph.edge_index
    between = float((part[source] != part[target]).double().mean())
    sampled.require(between < 1 - 1 / PARTS, "as many edges are between parts as in a random division")
    return torch.tensor(len(sizes), device=case.device)


def walkable(graph: Graph) -> Tensor:
    """Return sources and targets, int64 [2, E], each pair once, with a loop at each node without a neighbour.

    torch_sparse 0.6.18 reads outside its arrays if a walk starts at such a node.
    """
    count = graph.num_nodes
    key = torch.unique(graph.edge_index[1] * count + graph.edge_index[0])
    source, target = key % count, key // count
    alone = torch.bincount(source, minlength=count).eq(0).nonzero().squeeze(1)
    return torch.cat((torch.stack((source, target)), alone.expand(2, -1)), dim=1)


def _entries(case: Case) -> Tensor:
    return walkable(case.graph).to(case.device, case.index_dtype)


def _sparse_sampler(case: Case) -> Any:
    data = pyg_data.Data(edge_index=_entries(case), num_nodes=case.graph.num_nodes)
    sampler = pyg_loader.GraphSAINTRandomWalkSampler(data, ROOTS, LENGTH)
    sampler.adj.storage.rowptr()
    return sampler


def _sparse(sampler: Any) -> Any:
    torch.default_generator.manual_seed(sampled.SEED)
    return sampler[0]


def _dgl() -> Kernel:
    sampler = dgl.dataloading.SAINTSampler(mode="walk", budget=(ROOTS, LENGTH))

    def run(graph: Any) -> Any:
        # The walks start where torch says, and go where DGL says.
        torch.default_generator.manual_seed(sampled.SEED)
        dgl.seed(sampled.SEED)
        return sampler.sample(graph, 0)

    def build(case: Case) -> Any:
        return on_dgl.with_formats(dgl.graph(tuple(_entries(case)), num_nodes=case.graph.num_nodes))

    return Kernel(build, run, lambda part, _: (part.ndata[dgl.NID].long(), torch.stack(part.edges()).long()))


def checked(case: Case, kernel: Kernel, output: Any, structure: Any) -> Tensor:
    """Return how many edges among the nodes are missing, are none of the graph, and come twice: int64 [3]."""
    assert kernel.result
    nodes, edges = map(sampled.whole, kernel.result(output, structure))
    sampled.require(nodes.equal(nodes.unique()), "the nodes are not ascending, or one comes twice")
    sampled.require(0 < len(nodes) <= ROOTS * (LENGTH + 1), f"it has {len(nodes)} nodes")
    entries = sampled.whole(_entries(case))
    count = case.graph.num_nodes
    expected = entries[:, torch.isin(entries, nodes).all(dim=0)]
    drawn, right = (ends[0] * count + ends[1] for ends in (nodes[edges], expected))
    missing, more = ~torch.isin(right, drawn), ~torch.isin(drawn, right)
    wrong = int(missing.sum()), int(more.sum()), len(drawn) - len(right)
    return torch.tensor(wrong, device=case.device)


OPERATIONS = (
    sampling(
        "metis_partition",
        dgl=Call("dgl.metis_partition_assignment(8)", _metis, (_METIS, ON_CPU)),
        pyg="ClusterData needs pyg-lib, or a torch_sparse that was built with METIS",
        sparse="torch_sparse is built without METIS",
        reference=lambda _graph: torch.tensor(PARTS),
        default=False,
    ),
    sampling(
        "saint_walk",
        sparse=Call(
            "GraphSAINTRandomWalkSampler",
            _sparse,
            (ON_CPU,),
            _sparse_sampler,
            lambda output, _sampler: (output[0], torch.stack(output[1].coo()[:2])),
        ),
        dgl=Call("dgl.dataloading.SAINTSampler('walk')", make=_dgl, limits=(_ROOTS,)),
        pyg="PyG's GraphSAINT samplers work on SparseTensor: see sparse",
        reference=lambda _graph: torch.zeros(3, dtype=torch.int64),
        default=False,
    ),
)
