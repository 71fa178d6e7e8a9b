"""The softmax over each node's incoming edges: how graph attention weighs neighbours."""

from functools import partial

from ..annotations import Case, Graph, Tensor
from ..libraries import definitions, inputs, torch, torch_scatter, utils
from ..limits import DGL_HALF, GRADIENT_ROUNDING, HALF, NO_PRODUCT, refuses
from ..operation import FORWARD_BACKWARD, Call, operation

HEADS = 8
"""Number of scores per edge."""

_GATHER = refuses(
    "torch.gather, the gradient of scatter_add_, takes wrong rows if an expanded index is int32",
    "int32",
    FORWARD_BACKWARD,
    "cpu",
)
_SEGMENT = refuses("sums and maxima of segments take int64 row pointers only", "int32")
_SPARSE = refuses("torch.sparse.softmax does not support half precision", HALF)


def scores(case: Case) -> Tensor:
    """Return scores [E, HEADS] of about 100.

    In float32 exp(100) overflows, so the check fails for a softmax that does not subtract the maximum.
    """
    return case.tensor(inputs.pattern(case.graph.num_edges, HEADS, case.dtype, shift=100))


def _torch_structure(case: Case) -> tuple[Tensor, tuple[int, int, int]]:
    return case.edge_index().flip(0), (case.graph.num_nodes, case.graph.num_nodes, HEADS)


def _torch(entries: tuple[Tensor, tuple[int, int, int]], score: Tensor) -> Tensor:
    indices, size = entries
    matrix = torch.sparse_coo_tensor(indices, score, size, is_coalesced=True, check_invariants=False)
    return torch.sparse.softmax(matrix, dim=1).values()


def reference(graph: Graph, score: Tensor) -> Tensor:
    """Return exp(score) divided by the sum of exp(score) at the same target: [E, HEADS]."""
    target = graph.edge_index[1]
    return score.exp() / definitions.sums(target, score.exp(), graph.num_nodes)[target]


_operation = partial(operation, group="attention", reach=1)

OPERATIONS = (
    _operation(
        "edge_softmax",
        pyg=Call(
            "utils.softmax by index",
            lambda graph, score: utils.softmax(score, graph.edge_index[1], num_nodes=graph.num_nodes),
            (_GATHER, NO_PRODUCT),
            "numbered_edges",
        ),
        sparse=Call(
            "torch_scatter.scatter_softmax",
            lambda graph, score: torch_scatter.scatter_softmax(
                score, graph.edge_index[1], dim=0, dim_size=graph.num_nodes
            ),
            (GRADIENT_ROUNDING, NO_PRODUCT),
            "numbered_edges",
        ),
        torch=Call("torch.sparse.softmax on COO", _torch, (_SPARSE, NO_PRODUCT), _torch_structure),
        dgl=Call("dgl.ops.edge_softmax", "dgl.ops.edge_softmax", (GRADIENT_ROUNDING, DGL_HALF, NO_PRODUCT)),
        example=True,
        reference=reference,
    ),
    _operation(
        "edge_softmax_ptr",
        pyg=Call(
            "utils.softmax by ptr",
            lambda pointer, score: utils.softmax(score, ptr=pointer),
            (_SEGMENT, NO_PRODUCT),
            lambda case: case.csr()[0],
        ),
        torch="torch.sparse.softmax takes no CSR matrix: see edge_softmax",
        dgl="a DGLGraph has both forms: see edge_softmax",
        with_pyg_lib=True,
        reference=reference,
    ),
)
