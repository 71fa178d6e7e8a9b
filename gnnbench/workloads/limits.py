"""In which types, directions and devices a library cannot run a call.

What is said here and in `operations/` was seen with torch 2.13, PyG 2.8.1, torch_sparse 0.6.18 and DGL 2.1.0.
"""

from typing import NamedTuple

from .spec import FORWARD_BACKWARD


class Limit(NamedTuple):
    """Why a call does not run in some combinations."""

    reason: str
    where: frozenset[str]
    """Of a direction, a dtype, an index dtype and a device those that must come together."""


SPARSE_TENSOR = Limit("torch_sparse's SparseTensor takes int64 indices only", frozenset({"int32"}))
CSR_PRODUCT = Limit("the CSR product @ has no bfloat16 on the CPU", frozenset({"bfloat16", "cpu"}))
MAX_GRADIENT = Limit(
    "the gradient of max is not unique in bfloat16, where neighbours tie",
    frozenset({"bfloat16", FORWARD_BACKWARD}),
)
