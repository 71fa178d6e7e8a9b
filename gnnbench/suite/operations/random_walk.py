"""Random walks along edges, to any neighbour, or weighed by where the last step came from (node2vec)."""

from functools import partial
from typing import Any

from ..annotations import Case, Chosen, Graph, Tensor
from ..libraries import dgl, on_sparse, sampled, torch
from ..operation import Call
from .neighbors import ON_CPU, sampling
from .subgraph import drawn

WALKS = 1024
LENGTH = 10
"""Steps of each walk."""
P, Q = 0.5, 2.0
"""Of node2vec (Grover and Leskovec, KDD 2016): the weight of the way back is 1 / P, of a node that is no
neighbour of the last one 1 / Q, and of the others 1."""


def starts(graph: Graph) -> Tensor:
    """Return at most WALKS random nodes that have a neighbour, the same each time.

    torch_sparse 0.6.18 reads outside its arrays if a walk comes to a node without one.
    """
    nodes = drawn(graph, graph.num_nodes)
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


def _node2vec(batch: Chosen) -> Tensor:
    dgl.seed(sampled.SEED)
    return dgl.sampling.node2vec_random_walk(batch.graph, batch.nodes, P, Q, LENGTH)


def checked(case: Case, walks: Tensor, _batch: Chosen) -> tuple[Tensor, Tensor]:
    """Return of walks what `reference` does: starts, and which steps are edges."""
    nodes = sampled.whole(walks)
    steps = sampled.has_edges(case.graph, nodes[:, :-1].flatten(), nodes[:, 1:].flatten())
    return walks[:, 0], steps.view(len(nodes), -1).to(walks.device)


def reference(graph: Graph) -> tuple[Tensor, Tensor]:
    """Return the first nodes [n], and that all LENGTH steps of each walk are edges: bool [n, LENGTH]."""
    first = starts(graph)
    return first, torch.ones(len(first), LENGTH, dtype=torch.bool)


_call = partial(Call, nodes=starts)
_operation = partial(sampling, reference=reference, default=False)

OPERATIONS = (
    _operation(
        "random_walk",
        sparse=_call("SparseTensor.random_walk", _sparse, (ON_CPU,), _sparse_graph),
        dgl=_call("dgl.sampling.random_walk", _dgl),
        pyg="PyG walks through torch_cluster, which is a library of its own: see sparse",
    ),
    _operation(
        "node2vec_walk",
        dgl=_call("dgl.sampling.node2vec_random_walk", _node2vec, (ON_CPU,)),
        pyg="nn.Node2Vec walks through pyg-lib only",
        sparse="torch_sparse walks to any neighbour: see random_walk",
    ),
)
