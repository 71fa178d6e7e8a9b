"""Limits of calls: combinations of dtype, direction and device that a library cannot run.

The limits here and in `operations/` hold for torch 2.13, PyG 2.8.1, torch_sparse 0.6.18 and DGL 2.1.0.
"""

from typing import NamedTuple

from .spec import AUTOCAST, FORWARD_BACKWARD, TRAIN

HALF = "bfloat16 or float16"
"""Stands for both types in `Limit.where`."""


class Limit(NamedTuple):
    """Why a call does not run with a combination of direction, dtypes and device."""

    reason: str
    where: frozenset[str]
    raises: bool = True
    """Whether the library refuses the call or returns a wrong output. False if the output is merely too
    inexact, or if the call works on small graphs."""
    degree: int = 0
    """The limit holds only on graphs with a node that has at least this many neighbours."""


def refuses(reason: str, *where: str) -> Limit:
    """Return the limit of a call that the library refuses, or that returns a wrong output."""
    return Limit(reason, frozenset(where))


def avoids(reason: str, *where: str) -> Limit:
    """Return the limit of a call that the library runs but gnnbench does not time: see `Limit.raises`."""
    return Limit(reason, frozenset(where), raises=False)


CSR_PRODUCT = refuses("the CSR product @ does not support half precision on the CPU", HALF, "cpu")
DGL_HALF = refuses("DGL does not compute in float16 on the CPU", "float16", "cpu")
SEGMENT_SUM = refuses("DGL's sums of segments do not support bfloat16 on the CPU", "bfloat16", "cpu")
MAX_GRADIENT = avoids(
    "the gradient of max is not unique: neighbours tie in half precision", HALF, FORWARD_BACKWARD
)
GRADIENT_ROUNDING = avoids(
    "sums in bfloat16 make the gradient too inexact at nodes of high degree", "bfloat16", FORWARD_BACKWARD
)
SCATTER_ADD = refuses(
    "scatter_add_ and scatter_reduce_ take int64 indices only, except for very small inputs", "int32"
)
KEY_OVERFLOW = avoids(
    "PyG sorts edges by source * N + target in the indices' type, which overflows int32 from 46,341 nodes on",
    "int32",
)
CPU_THREADS = avoids("CPU threads do not compute on a GPU", "cuda")
MIXED = refuses(
    "autocast makes the features bfloat16 but not the graph's values, and the library does not mix them",
    AUTOCAST,
    "cpu",
)
OVERFLOW = avoids("sums exceed float16's largest number, 65,504", "float16")
HALF_TRAINING = refuses("Adam's epsilon of 1e-8 is 0 in float16", "float16", TRAIN)
"""Applies to every operation of gnnbench."""
NO_PRODUCT = avoids(
    "autocast converts matrix products in a forward pass: it is timed on layers and models only", AUTOCAST
)
"""Applies to every operation of gnnbench that has no matrix product in its forward pass."""
OF_PLATFORM = {"sparse": (refuses("torch_sparse and torch_scatter take int64 indices only", "int32"),)}
"""By platform, the limits of all calls of gnnbench's operations."""
