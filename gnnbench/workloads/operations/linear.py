"""The dense part of a layer: features times weights."""

from typing import TYPE_CHECKING

from ..least_work import Symbols, Work
from ..operation import Call, Kernel, Operation

if TYPE_CHECKING:
    from torch import Tensor

    from ..graphs.graph import Graph


def _pyg() -> Kernel:
    return Kernel(lambda _: None, lambda _, layer, x: layer(x))


def _torch() -> Kernel:
    return Kernel(lambda _: None, lambda _, weight, x: x @ weight)


def reference(_graph: "Graph", weight: "Tensor", x: "Tensor") -> "Tensor":
    """Return x @ weight."""
    return x @ weight


def least_work(m: Symbols) -> Work:
    """Bytes s (N D + p (D F + N F)): x (without gradient), weight and output. Flops p 2 N D F."""
    return Work(m.s * (m.N * m.D + m.p * (m.D * m.F + m.N * m.F)), m.p * 2 * m.N * m.D * m.F)


OPERATIONS = (
    Operation(
        "linear",
        {"pyg": Call("torch_geometric.nn.Linear", _pyg), "torch": Call("x @ W", _torch)},
        {
            "sparse": "the layer is PyG's Linear: see pyg",
            "dgl": "GraphConv calls torch.matmul: see torch",
        },
        reference=reference,
        least_work=least_work,
        group="layers",
    ),
)
