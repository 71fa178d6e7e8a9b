"""Sums, means, maxima and products of messages by an index that is not sorted.

Message e of [E, F] belongs to node index[e], the source of entry e. Entries are sorted by target, so the
messages of a node lie apart, as in PyG's data sets, which are sorted by source and aggregated at targets.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..least_work import Symbols, Work
from ..limits import MAX_GRADIENT, SCATTER_ADD, Limit
from ..operation import Call, Kernel, Operation

if TYPE_CHECKING:
    from torch import Tensor

    from ..case import Case
    from ..graphs.graph import Graph

_TORCH_SCATTER = Limit("torch_scatter takes int64 indices only", frozenset({"int32"}))
_PRODUCT_ROUNDING = Limit(
    "torch_scatter rounds each product to bfloat16: too inexact at nodes of high degree",
    frozenset({"bfloat16"}),
    raises=False,
)


class Destination(NamedTuple):
    """Where messages go, as the arguments of a scatter."""

    indices: "Tensor"
    """int [E]: each message's node."""
    num_nodes: int


def unsorted_index(case: "Case") -> Destination:
    """Return the sources of the entries, which are sorted by target."""
    return Destination(case.edge_index()[0].clone(), case.graph.num_nodes)


def _pyg(reduce: str) -> Kernel:
    from torch_geometric import utils

    return Kernel(
        unsorted_index,
        lambda to, messages: utils.scatter(messages, to.indices, 0, to.num_nodes, reduce),
    )


def _sparse(reduce: str) -> Kernel:
    import torch_scatter

    return Kernel(
        unsorted_index,
        lambda to, messages: torch_scatter.scatter(
            messages, to.indices, 0, dim_size=to.num_nodes, reduce=reduce
        ),
    )


def _torch_sum() -> Kernel:
    def run(to: Destination, messages: "Tensor") -> "Tensor":
        return messages.new_zeros(to.num_nodes, messages.size(1)).index_add_(0, to.indices, messages)

    return Kernel(unsorted_index, run)


def _torch(reduce: str) -> Kernel:
    def run(to: Destination, messages: "Tensor") -> "Tensor":
        out = messages.new_zeros(to.num_nodes, messages.size(1))
        index = to.indices.unsqueeze(1).expand_as(messages)
        return out.scatter_reduce_(0, index, messages, reduce, include_self=False)

    return Kernel(unsorted_index, run)


def _torch_product() -> Kernel:
    def run(to: Destination, messages: "Tensor") -> "Tensor":
        out = messages.new_ones(to.num_nodes, messages.size(1))
        return out.scatter_reduce_(0, to.indices.unsqueeze(1).expand_as(messages), messages, "prod")

    return Kernel(unsorted_index, run)


def _dgl(reduce_name: str) -> Kernel:
    from ..platforms.dgl import dgl, with_formats

    message = dgl.function.copy_e("message", "message")
    reduce = getattr(dgl.function, reduce_name)

    def build(case: "Case") -> Any:
        index, other_end = case.edge_index()
        return with_formats(dgl.graph((other_end, index), num_nodes=case.graph.num_nodes))

    def run(graph: Any, messages: "Tensor") -> "Tensor":
        with graph.local_scope():
            graph.edata["message"] = messages
            # dgl.ops.copy_e_max would add the gradients of nodes without messages to entry 0.
            graph.update_all(message, reduce("message", "out"))
            return graph.ndata["out"]

    return Kernel(build, run)


def sums(graph: "Graph", messages: "Tensor") -> "Tensor":
    """Return each node's sum of messages: [N, F]."""
    from ..reference import reduced

    return reduced(graph.edge_index[0], messages, graph.num_nodes)


def means(graph: "Graph", messages: "Tensor") -> "Tensor":
    """Return each node's mean of messages, 0 without messages: [N, F]."""
    from ..reference import reduced

    return reduced(graph.edge_index[0], messages, graph.num_nodes, "mean")


def maxima(graph: "Graph", messages: "Tensor") -> "Tensor":
    """Return each node's maximum of messages, 0 without messages: [N, F]."""
    from ..reference import reduced

    return reduced(graph.edge_index[0], messages, graph.num_nodes, "amax")


def products(graph: "Graph", messages: "Tensor") -> "Tensor":
    """Return each node's product of positive messages, 1 without messages: [N, F].

    It is the exponential of the sum of logarithms, so a message's gradient is the product of the others.
    """
    return sums(graph, messages.log()).exp()


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


OPERATIONS = (
    Operation(
        "scatter_sum",
        {
            "pyg": Call("utils.scatter(..., 'sum')", partial(_pyg, "sum"), (SCATTER_ADD,)),
            "sparse": Call("torch_scatter.scatter", partial(_sparse, "sum"), (SCATTER_ADD,)),
            "torch": Call("index_add_", _torch_sum),
            "dgl": Call("update_all(copy_e, sum)", partial(_dgl, "sum")),
        },
        example=True,
        reference=sums,
        linear=True,
        least_work=sums_work,
        group="scatter",
    ),
    Operation(
        "scatter_mean",
        {
            "pyg": Call("utils.scatter(..., 'mean')", partial(_pyg, "mean"), (SCATTER_ADD,)),
            "sparse": Call("torch_scatter.scatter(..., 'mean')", partial(_sparse, "mean"), (SCATTER_ADD,)),
            "torch": Call("scatter_reduce_(..., 'mean')", partial(_torch, "mean"), (SCATTER_ADD,)),
            "dgl": Call("update_all(copy_e, mean)", partial(_dgl, "mean")),
        },
        reference=means,
        linear=True,
        least_work=means_work,
        group="scatter",
    ),
    Operation(
        "scatter_max",
        {
            "pyg": Call("utils.scatter(..., 'max')", partial(_pyg, "max"), (SCATTER_ADD, MAX_GRADIENT)),
            "sparse": Call(
                "torch_scatter.scatter(..., 'max')", partial(_sparse, "max"), (_TORCH_SCATTER, MAX_GRADIENT)
            ),
            "torch": Call(
                "scatter_reduce_(..., 'amax')", partial(_torch, "amax"), (SCATTER_ADD, MAX_GRADIENT)
            ),
            "dgl": Call("update_all(copy_e, max)", partial(_dgl, "max"), (MAX_GRADIENT,)),
        },
        reference=maxima,
        reach=1,
        end=0,
        least_work=sums_work,
        group="scatter",
    ),
    Operation(
        "scatter_mul",
        {
            "pyg": Call("utils.scatter(..., 'mul')", partial(_pyg, "mul"), (SCATTER_ADD,)),
            "sparse": Call(
                "torch_scatter.scatter(..., 'mul')",
                partial(_sparse, "mul"),
                (_TORCH_SCATTER, _PRODUCT_ROUNDING),
            ),
            "torch": Call("scatter_reduce_(..., 'prod')", _torch_product, (SCATTER_ADD,)),
        },
        {"dgl": "DGL reduces by sum, mean, max and min only"},
        reference=products,
        reach=1,
        end=0,
        least_work=products_work,
        group="scatter",
    ),
)
