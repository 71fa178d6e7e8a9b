"""DGL's message passing with `update_all`."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..annotations import Tensor
from ..libraries import definitions, dgl, on_dgl
from ..limits import DGL_HALF, MAX_GRADIENT, Limit
from ..operation import Call, Formula, Kernel, Operation, operation
from . import spmm


def _dgl(reduce_name: str, *, weighted: bool = False) -> Kernel:
    fn = dgl.function
    message = fn.u_mul_e("x", "w", "message") if weighted else fn.copy_u("x", "message")
    reduce = getattr(fn, reduce_name)

    def run(graph: Any, x: Tensor, weight: Tensor | None = None) -> Tensor:
        with graph.local_scope():
            graph.ndata["x"] = x
            if weight is not None:
                graph.edata["w"] = weight
            graph.update_all(message, reduce("message", "out"))
            return graph.ndata["out"]

    return Kernel(on_dgl.structure, run)


def _operation(name: str, kernel: Callable[[], Kernel], *limits: Limit, **more: Any) -> Operation:
    message, _, reduce = name.rpartition("_")
    calls = {"dgl": Call(f"update_all({message}, {reduce})", make=kernel, limits=(DGL_HALF, *limits))}
    return operation(f"update_all_{name}", **calls, group="aggregation", **more)


OPERATIONS = (
    _operation(
        "copy_u_sum",
        partial(_dgl, "sum"),
        core=True,
        reference=spmm.sums,
        linear=True,
        least_work=spmm.sums_work,
    ),
    _operation(
        "copy_u_mean", partial(_dgl, "mean"), reference=spmm.means, linear=True, least_work=spmm.means_work
    ),
    _operation(
        "copy_u_max",
        partial(_dgl, "max"),
        MAX_GRADIENT,
        reference=spmm.maxima,
        reach=1,
        least_work=spmm.maxima_work,
    ),
    _operation(
        "u_mul_e_sum",
        partial(_dgl, "sum", weighted=True),
        reference=lambda graph, x, weight: definitions.aggregate(graph.edge_index, weight, x),
        reach=1,
        least_work=Formula("G(E) + p s ((R + N) F + E)", "(2 p - 1) 2 E F"),
    ),
)
