"""Sums, means and maxima of messages that are sorted by node, in segments between offsets.

Message e of [E, F] belongs to the target of entry e. Entries are sorted by target.
"""

from functools import partial
from typing import TYPE_CHECKING

from ..least_work import Symbols, Work
from ..limits import MAX_GRADIENT, Limit
from ..operation import Call, Kernel, Operation
from . import scatter

if TYPE_CHECKING:
    from torch import Tensor

    from ..case import Case
    from ..graphs.graph import Graph

_SEGMENT_CSR = Limit("torch_scatter.segment_csr takes int64 offsets only", frozenset({"int32"}))
_SUM_ROUNDING = Limit(
    "torch.segment_reduce adds in bfloat16: too inexact at nodes of high degree",
    frozenset({"bfloat16", "cpu"}),
    raises=False,
)
_DGL_SUM = Limit("DGL's segment_reduce does not add in bfloat16 on the CPU", frozenset({"bfloat16", "cpu"}))


def offsets(case: "Case") -> "Tensor":
    """Return where each target's entries start, and their number: int [N + 1]."""
    pointer, _, _ = case.csr()
    return pointer


def lengths(case: "Case") -> "Tensor":
    """Return the number of each target's entries: int [N]."""
    return offsets(case).diff()


def _pyg(reduce: str) -> Kernel:
    from torch_geometric import utils

    return Kernel(offsets, lambda pointer, messages: utils.segment(messages, pointer, reduce))


def _sparse(reduce: str) -> Kernel:
    import torch_scatter

    return Kernel(
        offsets, lambda pointer, messages: torch_scatter.segment_csr(messages, pointer, reduce=reduce)
    )


def _torch(reduce: str) -> Kernel:
    import torch

    # Of no messages, the mean would be NaN.
    initial = 0 if reduce == "mean" else None
    return Kernel(
        offsets,
        lambda pointer, messages: torch.segment_reduce(messages, reduce, offsets=pointer, initial=initial),
        _without_infinities if reduce == "max" else None,
    )


def _without_infinities(maxima: "Tensor", *_inputs: "Tensor") -> "Tensor":
    """Replace -inf, torch's maximum of no messages, by 0."""
    return maxima.masked_fill(maxima.isinf(), 0)


def _dgl(reduce: str) -> Kernel:
    from ..platforms.dgl import dgl

    return Kernel(lengths, lambda lengths, messages: dgl.ops.segment_reduce(lengths, messages, reduce))


def sums(graph: "Graph", messages: "Tensor") -> "Tensor":
    """Return each target's sum of messages: [N, F]."""
    from ..reference import reduced

    return reduced(graph.edge_index[1], messages, graph.num_nodes)


def means(graph: "Graph", messages: "Tensor") -> "Tensor":
    """Return each target's mean of messages, 0 without messages: [N, F]."""
    from ..reference import reduced

    return reduced(graph.edge_index[1], messages, graph.num_nodes, "mean")


def maxima(graph: "Graph", messages: "Tensor") -> "Tensor":
    """Return each target's maximum of messages, 0 without messages: [N, F]."""
    from ..reference import reduced

    return reduced(graph.edge_index[1], messages, graph.num_nodes, "amax")


def sums_work(m: Symbols) -> Work:
    """Bytes as scatter_sum's, with the smaller of lengths and index: i min(N, E). Flops E F."""
    return Work(m.i * min(m.N, m.E) + scatter.message_bytes(m), m.E * m.F)


def means_work(m: Symbols) -> Work:
    """Bytes as a sum. Flops as scatter_mean."""
    return Work(sums_work(m).bytes, scatter.means_work(m).flops)


OPERATIONS = (
    Operation(
        "segment_sum",
        {
            "pyg": Call("utils.segment(..., 'sum')", partial(_pyg, "sum"), (_SEGMENT_CSR,)),
            "sparse": Call("torch_scatter.segment_csr", partial(_sparse, "sum"), (_SEGMENT_CSR,)),
            "torch": Call("torch.segment_reduce(..., 'sum')", partial(_torch, "sum"), (_SUM_ROUNDING,)),
            "dgl": Call("dgl.ops.segment_reduce", partial(_dgl, "sum"), (_DGL_SUM,)),
        },
        reference=sums,
        linear=True,
        least_work=sums_work,
        group="scatter",
    ),
    Operation(
        "segment_mean",
        {
            "pyg": Call("utils.segment(..., 'mean')", partial(_pyg, "mean"), (_SEGMENT_CSR,)),
            "sparse": Call(
                "torch_scatter.segment_csr(..., 'mean')", partial(_sparse, "mean"), (_SEGMENT_CSR,)
            ),
            "torch": Call("torch.segment_reduce(..., 'mean')", partial(_torch, "mean")),
            "dgl": Call("dgl.ops.segment_reduce(..., 'mean')", partial(_dgl, "mean"), (_DGL_SUM,)),
        },
        reference=means,
        linear=True,
        least_work=means_work,
        group="scatter",
    ),
    Operation(
        "segment_max",
        {
            "pyg": Call("utils.segment(..., 'max')", partial(_pyg, "max"), (_SEGMENT_CSR, MAX_GRADIENT)),
            "sparse": Call(
                "torch_scatter.segment_csr(..., 'max')", partial(_sparse, "max"), (_SEGMENT_CSR, MAX_GRADIENT)
            ),
            "torch": Call("torch.segment_reduce(..., 'max')", partial(_torch, "max"), (MAX_GRADIENT,)),
            "dgl": Call("dgl.ops.segment_reduce(..., 'max')", partial(_dgl, "max"), (MAX_GRADIENT,)),
        },
        reference=maxima,
        reach=1,
        least_work=sums_work,
        group="scatter",
    ),
)
