"""Sums, means, maxima and products of messages by an index that is not sorted.

Message e of [E, F] belongs to node index[e], the source of entry e. Entries are sorted by target, so the
messages of a node lie apart, as in PyG's data sets, which are sorted by source and aggregated at targets.
"""

from functools import partial
from typing import Any, NamedTuple

from ...engine.ground.labels import Work
from ..annotations import Case, Graph, Tensor
from ..least_work import Symbols
from ..libraries import definitions, dgl, on_dgl, torch_scatter, utils
from ..limits import DGL_HALF, MAX_GRADIENT, SCATTER_ADD, Limit
from ..operation import Call, Operation
from ..platforms import Kernel

_TORCH_SCATTER = Limit("torch_scatter takes int64 indices only", frozenset({"int32"}))
_PRODUCT_ROUNDING = Limit(
    "torch_scatter rounds each product to bfloat16: too inexact at nodes of high degree",
    frozenset({"bfloat16"}),
    raises=False,
)


class Destination(NamedTuple):
    """Where messages go, as the arguments of a scatter."""

    indices: Tensor
    """int [E]: each message's node."""
    num_nodes: int


def unsorted_index(case: Case) -> Destination:
    """Return the sources of the entries, which are sorted by target."""
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


def _dgl(reduce_name: str) -> Kernel:
    message = dgl.function.copy_e("message", "message")
    reduce = getattr(dgl.function, reduce_name)

    def build(case: Case) -> Any:
        index, other_end = case.edge_index()
        return on_dgl.with_formats(dgl.graph((other_end, index), num_nodes=case.graph.num_nodes))

    def run(graph: Any, messages: Tensor) -> Tensor:
        with graph.local_scope():
            graph.edata["message"] = messages
            # dgl.ops.copy_e_max would add the gradients of nodes without messages to entry 0.
            graph.update_all(message, reduce("message", "out"))
            return graph.ndata["out"]

    return Kernel(build, run)


def reduced(graph: Graph, messages: Tensor, end: int, reduce: Any) -> Tensor:
    """Return each node's sum, mean or maximum of messages, 0 without messages: [N, F].

    `end` says which of an entry's nodes gets its message: 0 the source, 1 the target.
    """
    return definitions.reduced(graph.edge_index[end], messages, graph.num_nodes, reduce)


def products(graph: Graph, messages: Tensor) -> Tensor:
    """Return each node's product of positive messages, 1 without messages: [N, F].

    It is the exponential of the sum of logarithms, so a message's gradient is the product of the others.
    """
    return reduced(graph, messages.log(), 0, "sum").exp()


def message_bytes(m: Symbols) -> int:
    """Return s (E + N) F for messages and results; with backward, s (R + E) F more for their gradients."""
    return m.s * m.F * (m.E + m.N + (m.p - 1) * (m.R + m.E))


def sums_work(m: Symbols) -> Work:
    """Bytes i E + those of messages: index, messages, results. Flops E F; the backward pass copies."""
    return Work(m.i * m.E + message_bytes(m), m.E * m.F)


def means_work(m: Symbols) -> Work:
    """Bytes as a sum. Flops (E + R) F: each sum is divided; backward R F: each gradient is."""
    return Work(sums_work(m).bytes, (m.E + m.p * m.R) * m.F)


def products_work(m: Symbols) -> Work:
    """Bytes as a sum. Flops E F; backward (R + E) F: gradient times product, over each message."""
    return Work(sums_work(m).bytes, (m.E + (m.p - 1) * (m.R + m.E)) * m.F)


_call = partial(Call, build=unsorted_index)
_operation = partial(Operation, group="scatter")

OPERATIONS = (
    _operation(
        "scatter_sum",
        {
            "pyg": _call("utils.scatter(..., 'sum')", partial(_pyg, reduce="sum"), (SCATTER_ADD,)),
            "sparse": _call("torch_scatter.scatter", partial(_sparse, reduce="sum"), (SCATTER_ADD,)),
            "torch": _call("index_add_", _torch_sum),
            "dgl": Call("update_all(copy_e, sum)", limits=(DGL_HALF,), make=partial(_dgl, "sum")),
        },
        example=True,
        reference=partial(reduced, end=0, reduce="sum"),
        linear=True,
        least_work=sums_work,
    ),
    _operation(
        "scatter_mean",
        {
            "pyg": _call("utils.scatter(..., 'mean')", partial(_pyg, reduce="mean"), (SCATTER_ADD,)),
            "sparse": _call(
                "torch_scatter.scatter(..., 'mean')", partial(_sparse, reduce="mean"), (SCATTER_ADD,)
            ),
            "torch": _call("scatter_reduce_(..., 'mean')", partial(_torch, reduce="mean"), (SCATTER_ADD,)),
            "dgl": Call("update_all(copy_e, mean)", limits=(DGL_HALF,), make=partial(_dgl, "mean")),
        },
        reference=partial(reduced, end=0, reduce="mean"),
        linear=True,
        least_work=means_work,
    ),
    _operation(
        "scatter_max",
        {
            "pyg": _call(
                "utils.scatter(..., 'max')", partial(_pyg, reduce="max"), (SCATTER_ADD, MAX_GRADIENT)
            ),
            "sparse": _call(
                "torch_scatter.scatter(..., 'max')",
                partial(_sparse, reduce="max"),
                (_TORCH_SCATTER, MAX_GRADIENT),
            ),
            "torch": _call(
                "scatter_reduce_(..., 'amax')", partial(_torch, reduce="amax"), (SCATTER_ADD, MAX_GRADIENT)
            ),
            "dgl": Call(
                "update_all(copy_e, max)", limits=(MAX_GRADIENT, DGL_HALF), make=partial(_dgl, "max")
            ),
        },
        reference=partial(reduced, end=0, reduce="amax"),
        reach=1,
        end=0,
        least_work=sums_work,
    ),
    _operation(
        "scatter_mul",
        {
            "pyg": _call("utils.scatter(..., 'mul')", partial(_pyg, reduce="mul"), (SCATTER_ADD,)),
            "sparse": _call(
                "torch_scatter.scatter(..., 'mul')",
                partial(_sparse, reduce="mul"),
                (_TORCH_SCATTER, _PRODUCT_ROUNDING),
            ),
            "torch": _call("scatter_reduce_(..., 'prod')", _torch_product, (SCATTER_ADD,)),
        },
        {"dgl": "DGL reduces by sum, mean, max and min only"},
        reference=products,
        reach=1,
        end=0,
        least_work=products_work,
    ),
)
