"""AGGNet's aggregate: one column, several hops, with self-loops (Park et al., NeurIPS 2021)."""

from functools import partial
from typing import Any

from ..annotations import Graph, Tensor
from ..libraries import definitions, dgl
from ..libraries import on_dgl as graphs
from ..libraries import on_torch as platform
from ..limits import CSR_PRODUCT, DGL_HALF
from ..operation import FORWARD, FORWARD_BACKWARD, Call, Formula, Kernel, operation


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

    return Kernel(graphs.looped_graph, run)


def _reference(hops: int, graph: Graph, x: Tensor) -> Tensor:
    """Return (A + I)^hops x: [N, 1]."""
    for _ in range(hops):
        x = definitions.aggregate(definitions.looped(graph)[0], None, x)
    return x


OPERATIONS = tuple(
    operation(
        f"aggregate{name}",
        dgl=Call(f"AGGNet: {on_dgl}", make=partial(_dgl, hops), limits=(DGL_HALF,)),
        torch=Call(
            on_torch,
            partial(_products, hops),
            (CSR_PRODUCT,),
            lambda case: platform.structure(case, self_loops=True),
        ),
        elsewhere="AGGNet is DGL code; see torch for the same sums in PyTorch",
        directions=(FORWARD, *(() if name else (FORWARD_BACKWARD,))),
        core=not name,
        default=hops in (2, 4),
        reference=partial(_reference, hops),
        # The graph once for all hops, one column in and out.
        least_work=Formula("G(L) + p s 2 N", f"p {hops} L"),
        group="aggregation",
    )
    for name, hops, on_dgl, on_torch in (
        ("", 2, "two GraphConv 1→1", "CSR @ (CSR @ x)"),
        ("_one_hop", 1, "GraphConv 1→1, once", "CSR @ x, once"),
        ("_three_hops", 3, "GraphConv 1→1, three times", "CSR @ x, three times"),
        ("_four_hops", 4, "GraphConv 1→1, four times", "CSR @ x, four times"),
    )
)
