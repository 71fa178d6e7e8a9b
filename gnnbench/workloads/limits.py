"""Combinations of dtype, direction and device in which a library cannot run a call.

The limits here and in `operations/` are those of torch 2.13, PyG 2.8.1, torch_sparse 0.6.18 and DGL 2.1.0.
"""

from typing import NamedTuple

from .spec import FORWARD_BACKWARD


class Limit(NamedTuple):
    """Why a call does not run in some combinations."""

    reason: str
    where: frozenset[str]
    """The direction, dtypes and device that must all apply."""
    raises: bool = True
    """Whether the library refuses the call, or returns something wrong; False: it only rounds too much, or on
    small graphs not at all."""


SPARSE_TENSOR = Limit("torch_sparse's SparseTensor takes int64 indices only", frozenset({"int32"}))
CSR_PRODUCT = Limit("the CSR product @ does not support bfloat16 on the CPU", frozenset({"bfloat16", "cpu"}))
MAX_GRADIENT = Limit(
    "the gradient of max is not unique: neighbours tie in bfloat16",
    frozenset({"bfloat16", FORWARD_BACKWARD}),
    raises=False,
)
SCATTER_ADD = Limit(
    "scatter_add_ and scatter_reduce_ take int64 indices only, except for very small inputs",
    frozenset({"int32"}),
)
KEY_OVERFLOW = Limit(
    "PyG sorts edges by source * N + target in the indices' type, which overflows int32 from 46,341 nodes on",
    frozenset({"int32"}),
    raises=False,
)
