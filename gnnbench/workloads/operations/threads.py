"""A product and a softmax with one CPU thread, with two, and with all of the session's."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ..least_work import Symbols, Work
from ..limits import Limit
from ..operation import Call, Kernel, Operation
from . import spmm

if TYPE_CHECKING:
    from torch import Tensor

    from ..graphs.graph import Graph

_ON_CPU = Limit("CPU threads do not compute on a GPU", frozenset({"cuda"}), raises=False)
_SCATTER_ADD = Limit(
    "scatter_add_ takes int64 indices only, except for very small inputs", frozenset({"int32"})
)


def _pyg() -> Kernel:
    from torch_geometric import utils

    from ..platforms.pyg import numbered_edges

    return Kernel(
        numbered_edges,
        lambda graph, weight: utils.softmax(weight, graph.edge_index[1], num_nodes=graph.num_nodes),
    )


def _sparse() -> Kernel:
    import torch_scatter

    from ..platforms.pyg import numbered_edges

    return Kernel(
        numbered_edges,
        lambda graph, weight: torch_scatter.scatter_softmax(
            weight, graph.edge_index[1], dim=0, dim_size=graph.num_nodes
        ),
    )


def _dgl() -> Kernel:
    from ..platforms.dgl import dgl, structure

    return Kernel(structure, dgl.ops.edge_softmax)


def softmax(graph: "Graph", weight: "Tensor") -> "Tensor":
    """Return exp(weight) over its sum at the same target: [E]."""
    from ..reference import sums

    target = graph.edge_index[1]
    return weight.exp() / sums(target, weight.exp(), graph.num_nodes)[target]


def softmax_work(m: Symbols) -> Work:
    """Bytes i E + p s 2 E: targets, weights and results, then their gradients. Flops 3 E; backward 4 E."""
    return Work(m.i * m.E + m.p * m.s * 2 * m.E, (4 * m.p - 1) * m.E)


_SUM = next(operation for operation in spmm.OPERATIONS if operation.name == "spmm_sum")
_SOFTMAX = Operation(
    "edge_softmax",
    {
        "pyg": Call("utils.softmax", _pyg),
        "sparse": Call("torch_scatter.scatter_softmax", _sparse, (_SCATTER_ADD,)),
        "dgl": Call("dgl.ops.edge_softmax", _dgl),
    },
    {"torch": "torch.sparse.softmax takes COO matrices only"},
    reference=softmax,
    reach=1,
    least_work=softmax_work,
)


def _by_threads(operation: Operation) -> Iterator[Operation]:
    calls = {name: call._replace(limits=(*call.limits, _ON_CPU)) for name, call in operation.calls.items()}
    for name, threads in (("1_thread", 1), ("2_threads", 2), ("all_threads", None)):
        yield replace(
            operation,
            name=f"{operation.name}_{name}",
            calls=calls,
            threads=threads,
            core=False,
            group="threads",
            formerly=(),
        )


OPERATIONS = (*_by_threads(_SUM), *_by_threads(_SOFTMAX))
