"""Sums, means and maxima of messages that are sorted by node, in segments between offsets.

Message e of [E, F] belongs to the target of entry e. Entries are sorted by target.
"""

from functools import partial

from ...engine.ground.labels import Work
from ..annotations import Case, Tensor
from ..least_work import Symbols
from ..libraries import dgl, torch, torch_scatter, utils
from ..limits import DGL_HALF, MAX_GRADIENT, SEGMENT_SUM, Limit
from ..operation import Call, Operation
from . import scatter

_SEGMENT_CSR = Limit("torch_scatter.segment_csr takes int64 offsets only", frozenset({"int32"}))
_SUM_ROUNDING = Limit(
    "torch.segment_reduce adds in bfloat16: too inexact at nodes of high degree",
    frozenset({"bfloat16", "cpu"}),
    raises=False,
)


def offsets(case: Case) -> Tensor:
    """Return where each target's entries start, and their number: int [N + 1]."""
    pointer, _, _ = case.csr()
    return pointer


def lengths(case: Case) -> Tensor:
    """Return the number of each target's entries: int [N]."""
    return offsets(case).diff()


def _pyg(pointer: Tensor, messages: Tensor, reduce: str) -> Tensor:
    return utils.segment(messages, pointer, reduce)


def _sparse(pointer: Tensor, messages: Tensor, reduce: str) -> Tensor:
    return torch_scatter.segment_csr(messages, pointer, reduce=reduce)


def _torch(pointer: Tensor, messages: Tensor, reduce: str, initial: int | None = None) -> Tensor:
    return torch.segment_reduce(messages, reduce, offsets=pointer, initial=initial)


def _without_infinities(maxima: Tensor, *_inputs: Tensor) -> Tensor:
    """Replace -inf, torch's maximum of no messages, by 0."""
    return maxima.masked_fill(maxima.isinf(), 0)


def _dgl(lengths: Tensor, messages: Tensor, reduce: str) -> Tensor:
    return dgl.ops.segment_reduce(lengths, messages, reduce)


def sums_work(m: Symbols) -> Work:
    """Bytes as scatter_sum's, with the smaller of lengths and index: i min(N, E). Flops E F."""
    return Work(m.i * min(m.N, m.E) + scatter.message_bytes(m), m.E * m.F)


def means_work(m: Symbols) -> Work:
    """Bytes as a sum. Flops as scatter_mean."""
    return Work(sums_work(m).bytes, scatter.means_work(m).flops)


_call = partial(Call, build=offsets)
_operation = partial(Operation, group="scatter")

OPERATIONS = (
    _operation(
        "segment_sum",
        {
            "pyg": _call("utils.segment(..., 'sum')", partial(_pyg, reduce="sum"), (_SEGMENT_CSR,)),
            "sparse": _call("torch_scatter.segment_csr", partial(_sparse, reduce="sum"), (_SEGMENT_CSR,)),
            "torch": _call(
                "torch.segment_reduce(..., 'sum')", partial(_torch, reduce="sum"), (_SUM_ROUNDING,)
            ),
            "dgl": Call(
                "dgl.ops.segment_reduce", partial(_dgl, reduce="sum"), (SEGMENT_SUM, DGL_HALF), lengths
            ),
        },
        reference=partial(scatter.reduced, end=1, reduce="sum"),
        linear=True,
        least_work=sums_work,
    ),
    _operation(
        "segment_mean",
        {
            "pyg": _call("utils.segment(..., 'mean')", partial(_pyg, reduce="mean"), (_SEGMENT_CSR,)),
            "sparse": _call(
                "torch_scatter.segment_csr(..., 'mean')", partial(_sparse, reduce="mean"), (_SEGMENT_CSR,)
            ),
            # Of no messages, the mean would be NaN.
            "torch": _call("torch.segment_reduce(..., 'mean')", partial(_torch, reduce="mean", initial=0)),
            "dgl": Call(
                "dgl.ops.segment_reduce(..., 'mean')",
                partial(_dgl, reduce="mean"),
                (SEGMENT_SUM, DGL_HALF),
                lengths,
            ),
        },
        reference=partial(scatter.reduced, end=1, reduce="mean"),
        linear=True,
        least_work=means_work,
    ),
    _operation(
        "segment_max",
        {
            "pyg": _call(
                "utils.segment(..., 'max')", partial(_pyg, reduce="max"), (_SEGMENT_CSR, MAX_GRADIENT)
            ),
            "sparse": _call(
                "torch_scatter.segment_csr(..., 'max')",
                partial(_sparse, reduce="max"),
                (_SEGMENT_CSR, MAX_GRADIENT),
            ),
            "torch": _call(
                "torch.segment_reduce(..., 'max')",
                partial(_torch, reduce="max"),
                (MAX_GRADIENT,),
                result=_without_infinities,
            ),
            "dgl": Call(
                "dgl.ops.segment_reduce(..., 'max')",
                partial(_dgl, reduce="max"),
                (MAX_GRADIENT, DGL_HALF),
                lengths,
            ),
        },
        reference=partial(scatter.reduced, end=1, reduce="amax"),
        reach=1,
        least_work=sums_work,
    ),
)
