"""AGGNet's aggregate: one column, several hops, with self-loops (Park et al., NeurIPS 2021)."""

from functools import partial
from typing import Any

from ..annotations import Graph, Tensor
from ..libraries import definitions, dgl, on_dgl, on_torch
from ..limits import CSR_PRODUCT, DGL_HALF
from ..operation import FORWARD, FORWARD_BACKWARD, Call, Formula, Kernel, Operation, operation


def _products(hops: int, adjacency: Tensor, x: Tensor) -> Tensor:
    for _ in range(hops):
        x = adjacency @ x
    return x


def _dgl(hops: int) -> Kernel:
    layer = dgl.nn.GraphConv(1, 1, norm="none", weight=False, bias=False)

    def run(graph: Any, x: Tensor) -> Tensor:
        for _ in range(hops):
            x = layer(graph, x)
        return x

    return Kernel(on_dgl.looped_graph, run)


def _reference(hops: int, graph: Graph, x: Tensor) -> Tensor:
    """Return (A + I)^hops x: [N, 1]."""
    for _ in range(hops):
        x = definitions.aggregate(definitions.looped(graph)[0], None, x)
    return x


def _operation(name: str, hops: int, dgl: str, torch: str, *, core: bool = False) -> Operation:
    return operation(
        name,
        dgl=Call(dgl, make=partial(_dgl, hops), limits=(DGL_HALF,)),
        torch=Call(
            torch,
            partial(_products, hops),
            (CSR_PRODUCT,),
            lambda case: on_torch.structure(case, self_loops=True),
        ),
        elsewhere="AGGNet is DGL code; see torch for the same sums in PyTorch",
        directions=(FORWARD, FORWARD_BACKWARD) if core else (FORWARD,),
        core=core,
        default=hops in (2, 4),
        reference=partial(_reference, hops),
        # The graph once for all hops, one column in and out.
        least_work=Formula("G(L) + p s 2 N", f"p {hops} L"),
        group="aggregation",
    )


OPERATIONS = (
    _operation("aggregate", 2, "AGGNet: two GraphConv 1→1", "CSR @ (CSR @ x)", core=True),
    *(
        _operation(f"aggregate_{name}", hops, f"AGGNet: GraphConv 1→1, {times}", f"CSR @ x, {times}")
        for name, hops, times in (
            ("one_hop", 1, "once"),
            ("three_hops", 3, "three times"),
            ("four_hops", 4, "four times"),
        )
    ),
)
