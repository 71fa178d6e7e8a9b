"""The dot product of the features at both ends of each edge: a sampled dense-dense matrix product."""

from ..annotations import Case, Graph, Tensor
from ..libraries import dgl, inputs, torch
from ..limits import DGL_HALF, GRADIENT_ROUNDING, HALF, NO_PRODUCT, avoids, refuses
from ..operation import Call, operation

_SAMPLED = refuses("sampled_addmm does not support half precision", HALF)
_DOT = avoids(
    "DGL adds up the products in bfloat16, which is too inexact from some hundred features on", "bfloat16"
)


def features(case: Case) -> tuple[Tensor, Tensor]:
    """Return different features of sources and of targets, each [N, F]."""
    x, y = inputs.pattern(case.graph.num_nodes, 2 * case.spec.hidden).split(case.spec.hidden, dim=1)
    return case.tensor(x), case.tensor(y)


def _pyg(edge_index: Tensor, x: Tensor, y: Tensor) -> Tensor:
    source, target = edge_index
    return (x[source] * y[target]).sum(dim=-1)


def reference(graph: Graph, x: Tensor, y: Tensor) -> Tensor:
    """Return the dot product of x at the source and y at the target: [E]."""
    source, target = graph.edge_index
    return torch.einsum("ef,ef->e", x[source], y[target])


OPERATIONS = (
    operation(
        "sddmm",
        pyg=Call("(x[source] * y[target]).sum(-1)", _pyg, (GRADIENT_ROUNDING, NO_PRODUCT), "edges"),
        torch=Call(
            "torch.sparse.sampled_addmm",
            lambda adjacency, x, y: torch.sparse.sampled_addmm(adjacency, y, x.t(), beta=0).values(),
            (_SAMPLED, NO_PRODUCT),
        ),
        dgl=Call(
            "dgl.ops.u_dot_v",
            lambda graph, x, y: dgl.ops.u_dot_v(graph, x, y).squeeze(-1),
            (_DOT, DGL_HALF, NO_PRODUCT),
        ),
        reference=reference,
        reach=1,
        group="attention",
    ),
)
