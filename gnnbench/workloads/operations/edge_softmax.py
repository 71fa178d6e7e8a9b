"""The softmax over each node's incoming edges: how graph attention weighs neighbours."""

from typing import TYPE_CHECKING

from ..least_work import Symbols, Work
from ..limits import Limit
from ..operation import Call, Kernel, Operation
from ..spec import FORWARD_BACKWARD

if TYPE_CHECKING:
    from torch import Tensor

    from ..case import Case
    from ..graphs.graph import Graph

HEADS = 8
"""Scores of each edge."""

_GATHER = Limit(
    "torch.gather, the gradient of scatter_add_, takes wrong rows if an expanded index is int32",
    frozenset({"int32", FORWARD_BACKWARD, "cpu"}),
)
_SCATTER = Limit("torch_scatter takes int64 indices only", frozenset({"int32"}))
_SEGMENT = Limit("sums and maxima of segments take int64 row pointers only", frozenset({"int32"}))
_ROUNDING = Limit(
    "sums in bfloat16 make the gradient too inexact at nodes of high degree",
    frozenset({"bfloat16", FORWARD_BACKWARD}),
    raises=False,
)
_SPARSE = Limit("torch.sparse.softmax does not support bfloat16", frozenset({"bfloat16"}))


def scores(case: "Case") -> "Tensor":
    """Return scores around 100 [E, HEADS].

    In float32 exp(100) overflows, so the check fails for a softmax that does not subtract the maximum.
    """
    from ..case import pattern

    return case.tensor(pattern(case.graph.num_edges, HEADS, case.dtype, shift=100))


def _pyg() -> Kernel:
    from torch_geometric import utils

    from ..platforms.pyg import numbered_edges

    return Kernel(
        numbered_edges,
        lambda graph, score: utils.softmax(score, graph.edge_index[1], num_nodes=graph.num_nodes),
    )


def _pyg_pointer() -> Kernel:
    from torch_geometric import utils

    return Kernel(lambda case: case.csr()[0], lambda pointer, score: utils.softmax(score, ptr=pointer))


def _sparse() -> Kernel:
    import torch_scatter

    from ..platforms.pyg import numbered_edges

    return Kernel(
        numbered_edges,
        lambda graph, score: torch_scatter.scatter_softmax(
            score, graph.edge_index[1], dim=0, dim_size=graph.num_nodes
        ),
    )


def _torch() -> Kernel:
    import torch

    def build(case: "Case") -> tuple["Tensor", tuple[int, int, int]]:
        return case.edge_index().flip(0), (case.graph.num_nodes, case.graph.num_nodes, HEADS)

    def run(entries: tuple["Tensor", tuple[int, int, int]], score: "Tensor") -> "Tensor":
        indices, size = entries
        matrix = torch.sparse_coo_tensor(indices, score, size, is_coalesced=True, check_invariants=False)
        return torch.sparse.softmax(matrix, dim=1).values()

    return Kernel(build, run)


def _dgl() -> Kernel:
    from ..platforms.dgl import dgl, structure

    return Kernel(structure, dgl.ops.edge_softmax)


def reference(graph: "Graph", score: "Tensor") -> "Tensor":
    """Return exp(score) over its sum at the same target: [E, HEADS]."""
    from ..reference import sums

    target = graph.edge_index[1]
    return score.exp() / sums(target, score.exp(), graph.num_nodes)[target]


def least_work(m: Symbols) -> Work:
    """Bytes i min(N + 1, E) + p s 2 E H: targets, scores and results, then their gradients.

    H = 8 heads. Flops 3 E H; backward 4 E H.
    """
    values = HEADS * m.E
    return Work(m.i * min(m.N + 1, m.E) + m.p * m.s * 2 * values, (4 * m.p - 1) * values)


OPERATIONS = (
    Operation(
        "edge_softmax",
        {
            "pyg": Call("utils.softmax by index", _pyg, (_GATHER,)),
            "sparse": Call("torch_scatter.scatter_softmax", _sparse, (_SCATTER, _ROUNDING)),
            "torch": Call("torch.sparse.softmax on COO", _torch, (_SPARSE,)),
            "dgl": Call("dgl.ops.edge_softmax", _dgl, (_ROUNDING,)),
        },
        example=True,
        reference=reference,
        reach=1,
        least_work=least_work,
        group="attention",
    ),
    Operation(
        "edge_softmax_ptr",
        {"pyg": Call("utils.softmax by ptr", _pyg_pointer, (_SEGMENT,))},
        {
            "sparse": "torch_scatter has no softmax by row pointer; PyG's calls its segment_csr: see pyg",
            "torch": "torch.sparse.softmax takes no CSR matrix: see edge_softmax",
            "dgl": "a DGLGraph has both forms: see edge_softmax",
        },
        reference=reference,
        reach=1,
        least_work=least_work,
        group="attention",
    ),
)
