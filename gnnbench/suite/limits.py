"""Combinations of dtype, direction and device in which a library cannot run a call.

The limits here and in `operations/` are those of torch 2.13, PyG 2.8.1, torch_sparse 0.6.18 and DGL 2.1.0.
"""

from typing import NamedTuple

from .spec import AUTOCAST, FORWARD_BACKWARD, STEP, TRAIN

HALF = "bfloat16 or float16"
"""Stands for both types in `Limit.where`."""


class Limit(NamedTuple):
    """Why a call does not run in some combinations."""

    reason: str
    where: frozenset[str]
    """The direction, dtypes and device that must all apply."""
    raises: bool = True
    """Whether the library refuses the call, or returns something wrong; False: it only rounds too much, or on
    small graphs not at all."""
    degree: int = 0
    """It holds only on graphs in which a node has at least so many neighbours."""


SPARSE_TENSOR = Limit("torch_sparse's SparseTensor takes int64 indices only", frozenset({"int32"}))
CSR_PRODUCT = Limit("the CSR product @ does not support half precision on the CPU", frozenset({HALF, "cpu"}))
DGL_HALF = Limit("DGL does not compute in float16 on the CPU", frozenset({"float16", "cpu"}))
SEGMENT_SUM = Limit(
    "DGL's sums of segments do not support bfloat16 on the CPU", frozenset({"bfloat16", "cpu"})
)
MAX_GRADIENT = Limit(
    "the gradient of max is not unique: neighbours tie in half precision",
    frozenset({HALF, FORWARD_BACKWARD}),
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
CPU_THREADS = Limit("CPU threads do not compute on a GPU", frozenset({"cuda"}), raises=False)
MIXED = Limit(
    "autocast makes the features bfloat16 but not the graph's values, and the library does not mix them",
    frozenset({AUTOCAST, "cpu"}),
)
OVERFLOW = Limit("sums exceed float16's largest number, 65,504", frozenset({"float16"}), raises=False)
HALF_TRAINING = tuple(
    Limit("Adam's epsilon of 1e-8 is 0 in float16", frozenset({"float16", direction}))
    for direction in (TRAIN, STEP)
)
"""Of every operation of gnnbench."""
NO_PRODUCT = Limit(
    "autocast converts matrix products in a forward pass: it is timed on layers and models only",
    frozenset({AUTOCAST}),
    raises=False,
)
"""Of every other operation of gnnbench."""
