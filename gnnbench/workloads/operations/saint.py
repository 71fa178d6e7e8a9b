"""GraphSAINT (Zeng et al., ICLR 2020): random walks, and the subgraph of the nodes on their ways."""

from typing import TYPE_CHECKING, Any

from ..limits import Limit
from ..operation import Call, Kernel
from .neighbors import INT64_ONLY, ON_CPU, sampling

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from ..case import Case
    from ..graphs.graph import Graph

ROOTS = 500
LENGTH = 2
"""Steps of each walk."""

_ROOTS = Limit("DGL's SAINTSampler draws int64 only", frozenset({"int32"}))


def _entries(case: "Case") -> "Tensor":
    """Return sources and targets, with a loop at each node without a neighbour: see `walkable`."""
    from ..mhaug.chain import edges_of
    from ..mhaug.saint import walkable

    graph = case.graph
    return walkable(edges_of(graph.edge_index, graph.num_nodes)).to(case.device, case.index_dtype)


def _sparse() -> Kernel:
    import torch
    from torch_geometric import loader
    from torch_geometric.data import Data

    from .. import sampled

    def build(case: "Case") -> Any:
        data = Data(edge_index=_entries(case), num_nodes=case.graph.num_nodes)
        sampler = loader.GraphSAINTRandomWalkSampler(data, ROOTS, LENGTH)
        sampler.adj.storage.rowptr()
        return sampler

    def run(sampler: Any) -> Any:
        torch.default_generator.manual_seed(sampled.SEED)
        return sampler[0]

    def result(output: Any, _sampler: Any) -> "tuple[Tensor, Tensor]":
        nodes, part = output
        source, target, _ = part.coo()
        return nodes, torch.stack((source, target))

    return Kernel(build, run, result)


def _dgl() -> Kernel:
    import torch

    from .. import sampled
    from ..platforms.dgl import dgl, with_formats

    sampler = dgl.dataloading.SAINTSampler(mode="walk", budget=(ROOTS, LENGTH))

    def run(graph: Any) -> Any:
        # The walks start where torch says, and go where DGL says.
        torch.default_generator.manual_seed(sampled.SEED)
        dgl.seed(sampled.SEED)
        return sampler.sample(graph, 0)

    def build(case: "Case") -> Any:
        return with_formats(dgl.graph(tuple(_entries(case)), num_nodes=case.graph.num_nodes))

    return Kernel(build, run, lambda part, _: (part.ndata[dgl.NID].long(), torch.stack(part.edges()).long()))


def checked(case: "Case", kernel: Kernel) -> "Callable[..., Tensor]":
    """Return a function that counts of what was drawn what `reference` does."""

    def result(output: Any, structure: Any) -> "Tensor":
        import torch

        from ..sampled import require, whole

        assert kernel.result
        nodes, edges = map(whole, kernel.result(output, structure))
        require(nodes.equal(nodes.unique()), "the nodes are not ascending, or one comes twice")
        require(0 < len(nodes) <= ROOTS * (LENGTH + 1), f"it has {len(nodes)} nodes")
        entries = whole(_entries(case))
        count = case.graph.num_nodes
        expected = entries[:, torch.isin(entries, nodes).all(dim=0)]
        found, right = (ends[0] * count + ends[1] for ends in (nodes[edges], expected))
        missing, more = ~torch.isin(right, found), ~torch.isin(found, right)
        wrong = int(missing.sum()), int(more.sum()), len(found) - len(right)
        return torch.tensor(wrong, device=case.device)

    return result


def reference(_graph: "Graph") -> "Tensor":
    """Return how many edges among the nodes are missing, are none of the graph, and come twice: none."""
    import torch

    return torch.zeros(3, dtype=torch.int64)


OPERATIONS = (
    sampling(
        "saint_walk",
        {
            "sparse": Call("GraphSAINTRandomWalkSampler", _sparse, (INT64_ONLY, ON_CPU)),
            "dgl": Call("dgl.dataloading.SAINTSampler('walk')", _dgl, (_ROOTS,)),
        },
        {"pyg": "PyG's GraphSAINT samplers work on SparseTensor: see sparse"},
        reference,
        default=False,
    ),
)
