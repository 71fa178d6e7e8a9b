"""Sums, means and maxima of messages that are sorted by node, in segments between offsets.

Message e of [E, F] belongs to the target of entry e. Entries are sorted by target.
"""

from functools import partial

from ..annotations import Case, Tensor
from ..libraries import dgl, torch, torch_scatter, utils
from ..limits import DGL_HALF, MAX_GRADIENT, SEGMENT_SUM, avoids, refuses
from . import scatter

_SEGMENT_CSR = refuses("torch_scatter.segment_csr takes int64 offsets only", "int32")
_SUM_ROUNDING = avoids(
    "torch.segment_reduce adds in bfloat16: too inexact at nodes of high degree", "bfloat16", "cpu"
)


def offsets(case: Case) -> Tensor:
    """Return where each target's entries start, and their number: int [N + 1]."""
    return case.csr()[0]


def lengths(case: Case) -> Tensor:
    """Return the number of each target's entries: int [N]."""
    return offsets(case).diff()


def _pyg(pointer: Tensor, messages: Tensor, reduce: str) -> Tensor:
    return utils.segment(messages, pointer, reduce)


def _sparse(pointer: Tensor, messages: Tensor, reduce: str) -> Tensor:
    return torch_scatter.segment_csr(messages, pointer, reduce=reduce)


def _torch(pointer: Tensor, messages: Tensor, reduce: str, initial: int | None = None) -> Tensor:
    return torch.segment_reduce(messages, reduce, offsets=pointer, initial=initial)


def _dgl(lengths: Tensor, messages: Tensor, reduce: str) -> Tensor:
    return dgl.ops.segment_reduce(lengths, messages, reduce)


_call = partial(scatter.call, build=offsets)
_sum, _mean, _max = scatter.reductions(1)

OPERATIONS = (
    _sum(
        "segment_sum",
        pyg=_call("utils.segment", _pyg, "sum", _SEGMENT_CSR),
        sparse=_call("torch_scatter.segment_csr", _sparse, "sum"),
        torch=_call("torch.segment_reduce", _torch, "sum", _SUM_ROUNDING),
        dgl=_call("dgl.ops.segment_reduce", _dgl, "sum", SEGMENT_SUM, DGL_HALF, build=lengths),
    ),
    _mean(
        "segment_mean",
        pyg=_call("utils.segment", _pyg, "mean", _SEGMENT_CSR),
        sparse=_call("torch_scatter.segment_csr", _sparse, "mean"),
        # Of no messages, the mean would be NaN.
        torch=_call("torch.segment_reduce", partial(_torch, initial=0), "mean"),
        dgl=_call("dgl.ops.segment_reduce", _dgl, "mean", SEGMENT_SUM, DGL_HALF, build=lengths),
    ),
    _max(
        "segment_max",
        pyg=_call("utils.segment", _pyg, "max", _SEGMENT_CSR, MAX_GRADIENT),
        sparse=_call("torch_scatter.segment_csr", _sparse, "max", MAX_GRADIENT),
        # Of no messages, the maximum is -inf.
        torch=_call("torch.segment_reduce", _torch, "max", MAX_GRADIENT)._replace(
            result=lambda maxima, *_: maxima.masked_fill(maxima.isinf(), 0)
        ),
        dgl=_call("dgl.ops.segment_reduce", _dgl, "max", MAX_GRADIENT, DGL_HALF, build=lengths),
    ),
)
