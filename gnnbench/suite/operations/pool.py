"""Pooling: what a network on batches of small graphs does after its convolutions."""

from functools import partial
from typing import Any, NamedTuple

from ..annotations import Case, DGLGraph, Graph, Module, Tensor
from ..libraries import definitions, dgl, inputs, network, pyg_nn, torch, utils
from ..limits import DGL_HALF, HALF, SCATTER_ADD, SEGMENT_SUM, avoids
from ..operation import Call, Kernel, operation
from . import batch
from .batch import MOLECULES

RATIO = 0.5
"""Fraction of a graph's nodes that top-k pooling keeps, rounded up."""
SORTED = 8
"""Number of nodes that sort pooling keeps of each graph."""

_TIES = avoids("scores that order the nodes tie in half precision", HALF)


class _Batch(NamedTuple):
    """A batch as the arguments of PyG's functions: edges [2, e], each node's graph [n], number of graphs."""

    edge_index: Tensor
    member: Tensor
    size: int


def features(case: Case) -> Tensor:
    """Return features of a batch's nodes: [n, F]."""
    return case.tensor(inputs.pattern(int(batch.sizes(case.graph).sum()), case.spec.hidden))


def layer(case: Case) -> Module:
    """Make a TopKPooling."""
    width = case.spec.hidden
    return network.with_parameters(case, pyg_nn.TopKPooling(width, RATIO), [inputs.pattern(width, 1).t()])


def _pyg_batch(case: Case) -> _Batch:
    graph = case.graph
    edge_index, member = (
        part.to(case.device, case.index_dtype) for part in (batch.edges(graph), batch.membership(graph))
    )
    return _Batch(edge_index, member, len(batch.sizes(graph)))


def _dgl_batch(case: Case) -> DGLGraph:
    """Return the batch without features."""
    graphs = batch.dgl_molecules(case, batch.SIZE)
    for graph in graphs:
        del graph.ndata["x"], graph.edata["w"]
    return dgl.batch(graphs)


def mean_dgl(graph: DGLGraph, x: Tensor) -> Any:
    """Return the mean over each graph's nodes: [B, F]."""
    with graph.local_scope():
        graph.ndata["x"] = x
        return dgl.mean_nodes(graph, "x")


def _top_k(graphs: _Batch, pool: Module, x: Tensor) -> Any:
    return pool(x, graphs.edge_index, batch=graphs.member)[0]


def _top_k_result(output: Tensor, graphs: _Batch, pool: Module, x: Tensor) -> tuple[Tensor, ...]:
    _, edge_index, _, member, nodes, _ = pool(x, graphs.edge_index, batch=graphs.member)
    return output, edge_index, member, nodes


def _sort_pyg() -> Kernel:
    pool = pyg_nn.aggr.SortAggregation(SORTED)
    return Kernel(_pyg_batch, lambda graphs, x: pool(x, graphs.member, dim_size=graphs.size))


def _sort_dgl(graph: DGLGraph, x: Tensor) -> Any:
    with graph.local_scope():
        graph.ndata["x"] = x
        return dgl.topk_nodes(graph, "x", SORTED, sortby=x.size(1) - 1)[0].flatten(1)


def _dense(graphs: _Batch, x: Tensor, part: int = 0) -> Any:
    return utils.to_dense_batch(x, graphs.member, batch_size=graphs.size)[part]


def means(graph: Graph, x: Tensor) -> Tensor:
    """Return the mean over each graph's nodes: [B, F]."""
    counts = batch.sizes(graph)
    return definitions.sums(batch.membership(graph), x, len(counts)) / counts.unsqueeze(1)


def _ranks(graph: Graph, score: Tensor) -> tuple[Tensor, Tensor]:
    """Return a batch's nodes by graph, then descending score; and their ranks there: int64 [n] each."""
    member, counts = batch.membership(graph), batch.sizes(graph)
    order = score.argsort(descending=True)
    order = order[member[order].argsort(stable=True)]
    return order, torch.arange(len(order)) - (counts.cumsum(0) - counts)[member]


def top_k(graph: Graph, weight: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    """Keep each graph's nodes with the largest scores tanh(x w / |w|) (Gao and Ji, ICML 2019).

    Returns, for the m kept nodes: features times scores [m, F]; the edges among them, renumbered [2, e'];
    each node's graph [m]; and each node's former index [m].
    """
    score = (x @ weight.view(-1) / weight.norm()).tanh()
    order, rank = _ranks(graph, score.detach())
    member = batch.membership(graph)
    nodes = order[rank < (batch.sizes(graph) * RATIO).ceil()[member]]
    number = torch.full((len(order),), -1)
    number[nodes] = torch.arange(len(nodes))
    edge_index = number[batch.edges(graph)]
    edge_index = edge_index[:, (edge_index >= 0).all(dim=0)]
    return x[nodes] * score[nodes].unsqueeze(1), edge_index, member[nodes], nodes


def sort_pool(graph: Graph, x: Tensor) -> Tensor:
    """Return each graph's 8 nodes of largest last feature, zero-padded (Zhang et al., 2018): [B, 8 F]."""
    order, rank = _ranks(graph, x[:, -1].detach())
    member, within = batch.membership(graph), rank < SORTED
    dense = x.new_zeros(len(batch.sizes(graph)), SORTED, x.size(1))
    return dense.index_put((member[within], rank[within]), x[order[within]]).flatten(1)


def dense_batch(graph: Graph, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return each graph's features, padded with zeros [B, M, F], and the mask of nodes [B, M]."""
    counts = batch.sizes(graph)
    mask = torch.arange(int(counts.max())) < counts.unsqueeze(1)
    return x.new_zeros(*mask.shape, x.size(1)).index_put((mask,), x), mask


_operation = partial(operation, group="batches", graphs=MOLECULES, batched=True, default=False)

OPERATIONS = (
    _operation(
        "global_mean_pool",
        pyg=Call(
            "global_mean_pool",
            lambda graphs, x: pyg_nn.pool.global_mean_pool(x, graphs.member, graphs.size),
            (SCATTER_ADD,),
            _pyg_batch,
        ),
        dgl=Call("dgl.mean_nodes", mean_dgl, (SEGMENT_SUM, DGL_HALF), _dgl_batch),
        reference=means,
    ),
    _operation(
        "topk_pool",
        pyg=Call("TopKPooling", _top_k, (SCATTER_ADD, _TIES), _pyg_batch, result=_top_k_result),
        dgl="DGL has no layer that keeps some of the nodes; for its topk_nodes see sort_pool",
        reference=top_k,
    ),
    _operation(
        "sort_pool",
        pyg=Call("SortAggregation", make=_sort_pyg, limits=(_TIES,)),
        dgl=Call("dgl.topk_nodes", _sort_dgl, (_TIES,), _dgl_batch),
        reference=sort_pool,
    ),
    _operation(
        "to_dense_batch",
        pyg=Call(
            "utils.to_dense_batch",
            _dense,
            build=_pyg_batch,
            result=lambda output, graphs, x: (output, _dense(graphs, x, 1)),
        ),
        torch="pad_sequence takes a list of tensors, not the rows of a batch",
        dgl="DGL pads features inside topk_nodes only: see sort_pool",
        reference=dense_batch,
    ),
)
