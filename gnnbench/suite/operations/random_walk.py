"""Random walks along edges, to any neighbour, or weighed by where the last step came from (node2vec)."""

from typing import Any

from ..annotations import Case, Graph, Tensor
from ..libraries import dgl, on_dgl, on_sparse, sampled, torch
from ..limits import refuses
from ..operation import Call
from .neighbors import ON_CPU, Batch, sampling
from .subgraph import drawn

WALKS = 1024
LENGTH = 10
"""Steps of each walk."""
P, Q = 0.5, 2.0
"""Of node2vec (Grover and Leskovec, KDD 2016): the weight of the way back is 1 / P, of a node that is no
neighbour of the last one 1 / Q, and of the others 1."""

_CLUSTER = refuses("torch_cluster walks in int64 only", "int32")


def starts(graph: Graph) -> Tensor:
    """Return at most WALKS random nodes that have a neighbour, the same each time.

    torch_sparse 0.6.18 reads outside its arrays if a walk comes to a node without one.
    """
    nodes = drawn(graph, graph.num_nodes)
    return nodes[graph.edge_index[0].bincount(minlength=graph.num_nodes)[nodes] > 0][:WALKS]


def _from_starts(case: Case, graph: Any) -> Batch:
    return Batch(graph, starts(case.graph).to(case.device, case.index_dtype))


def _cluster_graph(case: Case) -> Batch:
    import torch_cluster  # noqa: F401 - registers its operators

    source, target = case.edge_index()
    source, order = source.sort(stable=True)
    pointer = torch.searchsorted(source, torch.arange(case.graph.num_nodes + 1).to(source))
    return _from_starts(case, (pointer, target[order]))


def _cluster(batch: Batch) -> Tensor:
    torch.default_generator.manual_seed(sampled.SEED)
    return torch.ops.torch_cluster.random_walk(*batch.graph, batch.seeds, LENGTH, 1.0, 1.0)[0]


def _sparse_graph(case: Case) -> Batch:
    matrix = on_sparse.structure(case).t()
    matrix.storage.rowptr()
    return _from_starts(case, matrix)


def _sparse(batch: Batch) -> Tensor:
    torch.default_generator.manual_seed(sampled.SEED)
    return batch.graph.random_walk(batch.seeds, LENGTH)


def _dgl_graph(case: Case) -> Batch:
    return _from_starts(case, on_dgl.structure(case))


def _dgl(batch: Batch) -> Tensor:
    dgl.seed(sampled.SEED)
    return dgl.sampling.random_walk(batch.graph, batch.seeds, length=LENGTH)[0]


def _node2vec(batch: Batch) -> Tensor:
    dgl.seed(sampled.SEED)
    return dgl.sampling.node2vec_random_walk(batch.graph, batch.seeds, P, Q, LENGTH)


def checked(case: Case, walks: Tensor, _batch: Batch) -> tuple[Tensor, Tensor]:
    """Return of walks what `reference` does: starts, and which steps are edges."""
    nodes = sampled.whole(walks)
    steps = sampled.has_edges(case.graph, nodes[:, :-1].flatten(), nodes[:, 1:].flatten())
    return walks[:, 0], steps.view(len(nodes), -1).to(walks.device)


def reference(graph: Graph) -> tuple[Tensor, Tensor]:
    """Return the first nodes [n], and that all LENGTH steps of each walk are edges: bool [n, LENGTH]."""
    first = starts(graph)
    return first, torch.ones(len(first), LENGTH, dtype=torch.bool)


OPERATIONS = (
    sampling(
        "random_walk",
        pyg=Call(
            "torch.ops.torch_cluster.random_walk",
            _cluster,
            (_CLUSTER,),
            build=_cluster_graph,
            one_of=("torch_cluster",),
        ),
        sparse=Call("SparseTensor.random_walk", _sparse, (ON_CPU,), _sparse_graph),
        dgl=Call("dgl.sampling.random_walk", _dgl, build=_dgl_graph),
        reference=reference,
        default=False,
    ),
    sampling(
        "node2vec_walk",
        dgl=Call("dgl.sampling.node2vec_random_walk", _node2vec, (ON_CPU,), _dgl_graph),
        pyg="nn.Node2Vec walks through pyg-lib only",
        sparse="torch_sparse walks to any neighbour: see random_walk",
        reference=reference,
        default=False,
    ),
)
