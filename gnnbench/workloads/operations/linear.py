"""The dense part of a layer: features times weights."""

from ..annotations import Graph, Tensor
from ..least_work import Symbols, Work
from ..operation import Call, Operation


def reference(_graph: Graph, weight: Tensor, x: Tensor) -> Tensor:
    """Return x @ weight."""
    return x @ weight


def least_work(m: Symbols) -> Work:
    """Bytes s (N D + p (D F + N F)): x (without gradient), weight and output. Flops p 2 N D F."""
    return Work(m.s * (m.N * m.D + m.p * (m.D * m.F + m.N * m.F)), m.p * 2 * m.N * m.D * m.F)


OPERATIONS = (
    Operation(
        "linear",
        {
            "pyg": Call("torch_geometric.nn.Linear", lambda _, layer, x: layer(x), build=lambda _: None),
            "torch": Call("x @ W", lambda _, weight, x: x @ weight, build=lambda _: None),
        },
        {
            "sparse": "the layer is PyG's Linear: see pyg",
            "dgl": "GraphConv calls torch.matmul: see torch",
        },
        reference=reference,
        least_work=least_work,
        group="layers",
    ),
)
