"""GraphSAINT's subgraphs by random walks (Zeng et al., ICLR 2020), with the same nodes for several states."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from gnnbench.engine.ground.packages import missing
from gnnbench.suite.operations.mh_aggregate import Edges
from gnnbench.suite.platforms import PLATFORMS


class Sampling(NamedTuple):
    """How subgraphs are sampled after each accepted proposal."""

    roots: int
    """Random walks per subgraph."""
    length: int
    """Steps per walk."""
    samples: int = 1
    """Subgraphs, each with one step of the optimiser."""


class Subgraph(NamedTuple):
    """The induced subgraph of some nodes."""

    edges: Edges
    """With new node numbers."""
    nodes: Tensor
    """int64 [n'], sorted: the nodes' numbers in the whole graph."""
    entries: Tensor
    """int64 [m']: the entries' numbers in the whole graph."""


def node_sampler(edges: Edges, sampling: Sampling) -> Callable[[torch.Generator], Tensor]:
    """Return a function that samples a subgraph's nodes: PyG's sampler, or DGL's without torch_sparse.

    Both libraries use their own generators, which are seeded from the given one.
    """
    make = dgl_sampler if missing(PLATFORMS["sparse"].packages) else pyg_sampler
    sample = make(walkable(edges), edges.num_nodes, sampling)

    def seeded(generator: torch.Generator) -> Tensor:
        seed = int(torch.randint(2**31, (), generator=generator, device=generator.device))
        with torch.random.fork_rng(devices=()):
            torch.default_generator.manual_seed(seed)  # torch.manual_seed would also seed the GPUs
            return torch.unique(sample(seed)).to(edges.source.device)

    return seeded


def walkable(edges: Edges) -> Tensor:
    """Return int64 [2, E] on the CPU, with a self-loop for each node without neighbours.

    torch_sparse 0.6.18 reads outside its arrays if a walk starts at such a node.
    """
    alone = torch.bincount(edges.source, minlength=edges.num_nodes).eq(0).nonzero().squeeze(1)
    entries = torch.stack((edges.source, edges.target))
    return torch.cat((entries, alone.expand(2, -1)), dim=1).cpu()


def pyg_sampler(entries: Tensor, num_nodes: int, sampling: Sampling) -> Callable[[int], Tensor]:
    """Return PyG's sampler, which uses torch's own generator."""
    from torch_geometric.data import Data
    from torch_geometric.loader import GraphSAINTRandomWalkSampler

    data = Data(edge_index=entries, num_nodes=num_nodes)
    sampler = GraphSAINTRandomWalkSampler(data, sampling.roots, sampling.length)
    return lambda _: sampler[0][0]


def dgl_sampler(entries: Tensor, num_nodes: int, sampling: Sampling) -> Callable[[int], Tensor]:
    """Return DGL's sampler, which uses torch's generator and DGL's own, and leaves the latter seeded."""
    from gnnbench.suite.platforms.dgl import dgl

    graph = dgl.graph(tuple(entries), num_nodes=num_nodes)
    sampler = dgl.dataloading.SAINTSampler(mode="walk", budget=(sampling.roots, sampling.length))

    def sample(seed: int) -> Tensor:
        dgl.seed(seed)
        nodes: Tensor = sampler.sample(graph, 0).ndata[dgl.NID]
        return nodes

    return sample


def induced(edges: Edges, nodes: Tensor) -> Subgraph:
    """Return the induced subgraph of int64 [n'] nodes, which must be sorted and unique."""
    number = torch.full((edges.num_nodes,), -1, dtype=torch.int64, device=nodes.device)
    number[nodes] = torch.arange(len(nodes), device=nodes.device)
    source, target = number[edges.source], number[edges.target]
    entries = ((source >= 0) & (target >= 0)).nonzero().squeeze(1)
    return Subgraph(Edges(source[entries], target[entries], len(nodes)), nodes, entries)
