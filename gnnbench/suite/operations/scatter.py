"""Sums, means, maxima and products of messages by an index, or in sorted segments; degrees and ranks.

Messages are [E, F]. Message e belongs to node index[e], the source of entry e. Entries are sorted by target,
so a node's messages are not adjacent. Likewise, PyG's data sets are sorted by source but aggregated at
targets. In segment operations, a message belongs to its target instead, and offsets separate nodes.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ..annotations import Case, DGLGraph, Graph, Tensor
from ..libraries import definitions, dgl, on_dgl, on_sparse, torch, torch_scatter, torch_sparse, utils
from ..limits import DGL_HALF, HALF, MAX_GRADIENT, SCATTER_ADD, SEGMENT_SUM, Limit, avoids, refuses
from ..operation import FORWARD, Call, Operation, operation
from .spmm import update_all

_PRODUCT_ROUNDING = avoids(
    "torch_scatter rounds each product to bfloat16: too inexact at nodes of high degree", "bfloat16"
)
_DEGREE_ROUNDING = avoids("bfloat16 cannot represent each degree above 256, float16 above 2,048", HALF)
_SEGMENT_CSR = refuses("torch_scatter.segment_csr takes int64 offsets only", "int32")
_SEGMENT_ROUNDING = avoids(
    "torch.segment_reduce adds in bfloat16: too inexact at nodes of high degree", "bfloat16", "cpu"
)
_RANK_INDEX = refuses("group_argsort takes int64 indices only", "int32")
_RANK_ROUNDING = avoids(
    "group_argsort adds 2 * index to values from 0 to 1 in their dtype; in half precision nodes mix", HALF
)


class Destination(NamedTuple):
    """Where messages go, as the arguments of a scatter: the node of each message [E]."""

    indices: Tensor
    num_nodes: int


def unsorted_index(case: Case) -> Destination:
    """Return an unsorted index: the source of each entry. The entries are sorted by target."""
    return Destination(case.edge_index()[0].clone(), case.graph.num_nodes)


def _pyg(to: Destination, messages: Tensor, reduce: str) -> Tensor:
    return utils.scatter(messages, to.indices, 0, to.num_nodes, reduce)


def _sparse(to: Destination, messages: Tensor, reduce: str) -> Tensor:
    return torch_scatter.scatter(messages, to.indices, 0, dim_size=to.num_nodes, reduce=reduce)


def _torch_sum(to: Destination, messages: Tensor) -> Tensor:
    return messages.new_zeros(to.num_nodes, messages.size(1)).index_add_(0, to.indices, messages)


def _torch(to: Destination, messages: Tensor, reduce: str) -> Tensor:
    out = messages.new_zeros(to.num_nodes, messages.size(1))
    index = to.indices.unsqueeze(1).expand_as(messages)
    return out.scatter_reduce_(0, index, messages, reduce, include_self=False)


def _torch_product(to: Destination, messages: Tensor) -> Tensor:
    out = messages.new_ones(to.num_nodes, messages.size(1))
    return out.scatter_reduce_(0, to.indices.unsqueeze(1).expand_as(messages), messages, "prod")


def _dgl_graph(case: Case) -> DGLGraph:
    index, other_end = case.edge_index()
    return on_dgl.with_formats(dgl.graph((other_end, index), num_nodes=case.graph.num_nodes))


_dgl = partial(update_all, "copy_e", build=_dgl_graph)
"""Uses update_all: dgl.ops.copy_e_max would add the gradients of nodes without messages to entry 0."""


def offsets(case: Case) -> Tensor:
    """Return where each target's entries start, then the number of all entries: int [N + 1]."""
    return case.csr()[0]


def lengths(case: Case) -> Tensor:
    """Return the number of each target's entries: int [N]."""
    return offsets(case).diff()


def _segment_pyg(pointer: Tensor, messages: Tensor, reduce: str) -> Tensor:
    return utils.segment(messages, pointer, reduce)


def _segment_sparse(pointer: Tensor, messages: Tensor, reduce: str) -> Tensor:
    return torch_scatter.segment_csr(messages, pointer, reduce=reduce)


def _segment_torch(pointer: Tensor, messages: Tensor, reduce: str, initial: int | None = None) -> Tensor:
    return torch.segment_reduce(messages, reduce, offsets=pointer, initial=initial)


def _segment_dgl(lengths: Tensor, messages: Tensor, reduce: str) -> Tensor:
    return dgl.ops.segment_reduce(lengths, messages, reduce)


def reduce_at(graph: Graph, messages: Tensor, end: int, reduce: Any) -> Tensor:
    """Reduce messages by source (`end` 0) or target (`end` 1); 0 for a node without messages: [N, F]."""
    return definitions.reduce_by_node(graph.edge_index[end], messages, graph.num_nodes, reduce)


def products(graph: Graph, messages: Tensor) -> Tensor:
    """Return each node's product of positive messages, as exp of the sum of logarithms: [N, F]."""
    return reduce_at(graph, messages.log(), 0, "sum").exp()


def _ones(case: Case) -> Any:
    # Without values, the SparseTensor would count once and cache the counts.
    return on_sparse.weighted(on_sparse.structure(case), case.edge_weight().detach().fill_(1))


def degrees(graph: Graph) -> Tensor:
    """Return the degree of each node, which is the same at both ends of the entries: int64 [N]."""
    return graph.edge_index[0].bincount(minlength=graph.num_nodes)


def ranks(graph: Graph, values: Tensor) -> Tensor:
    """Return each entry's rank by value, then position, among entries of the same source: int64 [E]."""
    source, degree = graph.edge_index[0], degrees(graph)
    order = values.argsort(stable=True)
    order = order[source[order].argsort(stable=True)]
    rank = source.new_empty(len(source))
    rank[order] = source.new_ones(len(source)).cumsum(0) - 1
    return rank - (degree.cumsum(0) - degree)[source]


def reductions(end: int) -> tuple[Callable[..., Operation], ...]:
    """Return functions that make operations for sums, means and maxima at one end of the entries."""
    return (
        partial(_operation, reference=partial(reduce_at, end=end, reduce="sum"), linear=True),
        partial(_operation, reference=partial(reduce_at, end=end, reduce="mean"), linear=True),
        partial(_operation, reference=partial(reduce_at, end=end, reduce="amax"), reach=1, end=end),
    )


def call(
    text: str, run: Callable[..., Tensor], reduce: str, *limits: Limit, build: Any = unsorted_index
) -> Call:
    """Return the call of a reduction."""
    return Call(f"{text}(..., '{reduce}')", partial(run, reduce=reduce), limits, build)


_operation = partial(operation, group="scatter")
_sum, _mean, _max = reductions(0)
_segment = partial(call, build=offsets)
_segment_sum, _segment_mean, _segment_max = reductions(1)

OPERATIONS = (
    _operation(
        "degree",
        pyg=Call(
            "utils.degree",
            lambda arguments: utils.degree(*arguments),
            (_DEGREE_ROUNDING,),
            lambda case: (*unsorted_index(case), case.dtype),
        ),
        sparse=Call(
            "torch_sparse.sum of ones",
            lambda adjacency: torch_sparse.sum(adjacency, dim=1),
            (_DEGREE_ROUNDING,),
            _ones,
        ),
        torch=Call(
            "torch.bincount",
            lambda to: torch.bincount(to.indices, minlength=to.num_nodes),
            build=unsorted_index,
        ),
        dgl=Call("in_degrees", lambda graph: graph.in_degrees()),
        directions=(FORWARD,),
        reference=degrees,
    ),
    _operation(
        "group_argsort",
        pyg=Call(
            "utils.group_argsort",
            lambda to, values: utils.group_argsort(values, to.indices, num_groups=to.num_nodes, stable=True),
            (_RANK_INDEX, _RANK_ROUNDING),
            unsorted_index,
        ),
        torch="torch.sort has no groups; two stable sorts would do it",
        dgl="dgl.sort_csc_by_tag sorts by integer tags and returns a graph, not ranks",
        directions=(FORWARD,),
        reference=ranks,
    ),
    _sum(
        "scatter_sum",
        pyg=call("utils.scatter", _pyg, "sum", SCATTER_ADD),
        sparse=call("torch_scatter.scatter", _sparse, "sum"),
        torch=Call("index_add_", _torch_sum, build=unsorted_index),
        dgl=_dgl("sum"),
        example=True,
    ),
    _mean(
        "scatter_mean",
        pyg=call("utils.scatter", _pyg, "mean", SCATTER_ADD),
        sparse=call("torch_scatter.scatter", _sparse, "mean"),
        torch=call("scatter_reduce_", _torch, "mean", SCATTER_ADD),
        dgl=_dgl("mean"),
    ),
    _max(
        "scatter_max",
        pyg=call("utils.scatter", _pyg, "max", SCATTER_ADD, MAX_GRADIENT),
        sparse=call("torch_scatter.scatter", _sparse, "max", MAX_GRADIENT),
        torch=call("scatter_reduce_", _torch, "amax", SCATTER_ADD, MAX_GRADIENT),
        dgl=_dgl("max", MAX_GRADIENT),
    ),
    _operation(
        "scatter_mul",
        pyg=call("utils.scatter", _pyg, "mul", SCATTER_ADD),
        sparse=call("torch_scatter.scatter", _sparse, "mul", _PRODUCT_ROUNDING),
        torch=Call("scatter_reduce_(..., 'prod')", _torch_product, (SCATTER_ADD,), unsorted_index),
        dgl="DGL reduces by sum, mean, max and min only",
        reference=products,
        reach=1,
        end=0,
    ),
    _segment_sum(
        "segment_sum",
        pyg=_segment("utils.segment", _segment_pyg, "sum", _SEGMENT_CSR),
        sparse=_segment("torch_scatter.segment_csr", _segment_sparse, "sum"),
        torch=_segment("torch.segment_reduce", _segment_torch, "sum", _SEGMENT_ROUNDING),
        dgl=_segment("dgl.ops.segment_reduce", _segment_dgl, "sum", SEGMENT_SUM, DGL_HALF, build=lengths),
    ),
    _segment_mean(
        "segment_mean",
        pyg=_segment("utils.segment", _segment_pyg, "mean", _SEGMENT_CSR),
        sparse=_segment("torch_scatter.segment_csr", _segment_sparse, "mean"),
        # The mean of no messages would be NaN.
        torch=_segment("torch.segment_reduce", partial(_segment_torch, initial=0), "mean"),
        dgl=_segment("dgl.ops.segment_reduce", _segment_dgl, "mean", SEGMENT_SUM, DGL_HALF, build=lengths),
    ),
    _segment_max(
        "segment_max",
        pyg=_segment("utils.segment", _segment_pyg, "max", _SEGMENT_CSR, MAX_GRADIENT),
        sparse=_segment("torch_scatter.segment_csr", _segment_sparse, "max", MAX_GRADIENT),
        # The maximum of no messages is -inf.
        torch=_segment("torch.segment_reduce", _segment_torch, "max", MAX_GRADIENT)._replace(
            result=lambda maxima, *_: maxima.masked_fill(maxima.isinf(), 0)
        ),
        dgl=_segment("dgl.ops.segment_reduce", _segment_dgl, "max", MAX_GRADIENT, DGL_HALF, build=lengths),
    ),
)
