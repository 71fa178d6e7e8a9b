"""Selecting rows of features, by a mask and by node numbers."""

from collections.abc import Callable
from functools import partial

from ...engine.ground.labels import Work
from ..annotations import Case, Graph, Tensor
from ..least_work import Symbols
from ..libraries import torch, utils
from ..operation import Call, Operation
from .subgraph import drawn

_ABSENT = dict.fromkeys(("sparse", "dgl"), "features are PyTorch tensors there too: see torch")


def nodes(graph: Graph) -> Tensor:
    """Return a random half of the nodes, in random order: int64 [N // 2]."""
    return drawn(graph, graph.num_nodes // 2)


def _nodes(case: Case) -> Tensor:
    return nodes(case.graph).to(case.device, case.index_dtype)


def mask(graph: Graph) -> Tensor:
    """Return which nodes `nodes` contains: bool [N]."""
    return torch.zeros(graph.num_nodes, dtype=torch.bool).index_fill(0, nodes(graph), True)


def _mask(case: Case) -> Tensor:
    return mask(case.graph).to(case.device)


def _reference(rows: Callable[[Graph], Tensor], graph: Graph, x: Tensor) -> Tensor:
    """Return the rows: [N // 2, F]."""
    return x[rows(graph)]


def _rows_bytes(m: Symbols) -> int:
    """2 s n F for n = N // 2 rows in and out; backward s (n + N) F for their gradients in, and x's out."""
    rows = m.N // 2
    return m.s * m.F * (2 * rows + (m.p - 1) * (rows + m.N))


def mask_work(m: Symbols) -> Work:
    """Bytes N + those of the rows: the mask has a byte for each node. Flops 0."""
    return Work(m.N + _rows_bytes(m), 0)


def index_work(m: Symbols) -> Work:
    """Bytes i N // 2 + those of the rows. Flops 0."""
    return Work(m.i * (m.N // 2) + _rows_bytes(m), 0)


OPERATIONS = (
    Operation(
        "mask_select",
        {
            "pyg": Call("utils.mask_select", lambda mask, x: utils.mask_select(x, 0, mask), build=_mask),
            "torch": Call("x[mask]", lambda mask, x: x[mask], build=_mask),
        },
        _ABSENT,
        reference=partial(_reference, mask),
        linear=True,
        least_work=mask_work,
        group="structure",
    ),
    Operation(
        "index_select",
        {
            "pyg": Call("utils.select", lambda nodes, x: utils.select(x, nodes, 0), build=_nodes),
            "torch": Call(
                "torch.index_select", lambda nodes, x: torch.index_select(x, 0, nodes), build=_nodes
            ),
        },
        _ABSENT,
        reference=partial(_reference, nodes),
        linear=True,
        least_work=index_work,
        group="structure",
    ),
)
