"""Random walks along edges; each step goes to any neighbour with equal probability."""

from functools import partial
from typing import Any

from ..annotations import Case, Chosen, Graph, Tensor
from ..libraries import dgl, on_sparse, sampled, torch
from ..operation import Call
from .neighbors import ON_CPU, sampling
from .subgraph import random_nodes

WALKS = 1024
LENGTH = 10
"""Steps of each walk."""


def starts(graph: Graph) -> Tensor:
    """Return at most WALKS random nodes that have a neighbour, the same each time.

    torch_sparse 0.6.18 reads outside its arrays if a walk comes to a node without neighbours.
    """
    nodes = random_nodes(graph, graph.num_nodes)
    return nodes[graph.edge_index[0].bincount(minlength=graph.num_nodes)[nodes] > 0][:WALKS]


def _sparse_graph(case: Case) -> Any:
    matrix = on_sparse.structure(case).t()
    matrix.storage.rowptr()
    return matrix


def _sparse(batch: Chosen) -> Tensor:
    torch.default_generator.manual_seed(sampled.SEED)
    return batch.graph.random_walk(batch.nodes, LENGTH)


def _dgl(batch: Chosen) -> Tensor:
    dgl.seed(sampled.SEED)
    return dgl.sampling.random_walk(batch.graph, batch.nodes, length=LENGTH)[0]


def check(case: Case, walks: Tensor, _batch: Chosen) -> tuple[Tensor, Tensor]:
    """Return the start of each walk, and whether each step is an edge, in the form of `reference`."""
    nodes = sampled.to_int64(walks)
    steps = sampled.has_edges(case.graph, nodes[:, :-1].flatten(), nodes[:, 1:].flatten())
    return walks[:, 0], steps.view(len(nodes), -1).to(walks.device)


def reference(graph: Graph) -> tuple[Tensor, Tensor]:
    """Return the starts [n], and True for each step, because each must be an edge: bool [n, LENGTH]."""
    nodes = starts(graph)
    return nodes, torch.ones(len(nodes), LENGTH, dtype=torch.bool)


_call = partial(Call, nodes=starts)

OPERATIONS = (
    sampling(
        "random_walk",
        sparse=_call("SparseTensor.random_walk", _sparse, (ON_CPU,), _sparse_graph),
        dgl=_call("dgl.sampling.random_walk", _dgl),
        pyg="PyG's walks are in torch_cluster, a separate library: see sparse",
        reference=reference,
        default=False,
    ),
)
