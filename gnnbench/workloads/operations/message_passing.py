"""A message function of one's own, for which the libraries have no fused kernel: all messages are stored."""

from typing import TYPE_CHECKING, Any

from ..least_work import Symbols, Work
from ..limits import SCATTER_ADD, SPARSE_TENSOR
from ..operation import Call, Kernel, Operation

if TYPE_CHECKING:
    from torch import Tensor

    from ..graphs.graph import Graph

_COLUMNS = 4
"""Columns of messages that the reference computes at a time."""


def _propagation() -> Any:
    """Return a MessagePassing, as users of PyG write it."""
    from torch import Tensor
    from torch_geometric.nn import MessagePassing

    class Differences(MessagePassing):  # type: ignore[misc]
        def forward(self, x: Tensor, graph: Any, edge_weight: Tensor) -> Tensor:
            return self.propagate(graph, x=x, edge_weight=edge_weight)

        def message(self, x_i: Tensor, x_j: Tensor, edge_weight: Tensor) -> Tensor:
            return edge_weight.unsqueeze(1) * (x_j - x_i).relu()

    return Differences(aggr="sum")


def _pyg() -> Kernel:
    from ..platforms.torch import edges

    propagation = _propagation()
    return Kernel(edges, lambda edge_index, x, weight: propagation(x, edge_index, weight))


def _sparse() -> Kernel:
    from ..platforms.sparse import structure

    propagation = _propagation()
    return Kernel(structure, lambda adjacency, x, weight: propagation(x, adjacency, weight))


def _torch() -> Kernel:
    import torch

    from ..platforms.torch import edges

    def run(edge_index: "Tensor", x: "Tensor", weight: "Tensor") -> "Tensor":
        source, target = edge_index
        difference = x.index_select(0, source) - x.index_select(0, target)
        return torch.zeros_like(x).index_add(0, target, weight.unsqueeze(1) * difference.relu())

    return Kernel(edges, run)


def _dgl() -> Kernel:
    from ..platforms.dgl import dgl, structure

    total = dgl.function.sum("message", "out")

    def message(edges: Any) -> dict[str, "Tensor"]:
        difference = edges.src["x"] - edges.dst["x"]
        return {"message": edges.data["w"].unsqueeze(1) * difference.relu()}

    def run(graph: Any, x: "Tensor", weight: "Tensor") -> "Tensor":
        with graph.local_scope():
            graph.ndata["x"] = x
            graph.edata["w"] = weight
            graph.update_all(message, total)
            return graph.ndata["out"]

    return Kernel(structure, run)


def reference(graph: "Graph", x: "Tensor", weight: "Tensor") -> "Tensor":
    """Return the sums over neighbours of weight * relu(x[source] - x[target]): [N, F].

    Gradients are comparable although ReLU has a kink, because a difference of two floating-point numbers has
    the right sign in every dtype.
    """
    import torch
    from torch.utils.checkpoint import checkpoint

    # Computed again in the backward pass, as autograd would keep several numbers for each message.
    parts = (
        checkpoint(_sums, graph.edge_index, columns, weight, use_reentrant=False)
        for columns in x.split(_COLUMNS, dim=1)
    )
    return torch.cat(list(parts), dim=1)


def _sums(entries: "Tensor", x: "Tensor", weight: "Tensor") -> "Tensor":
    import torch

    source, target = entries
    messages = weight.unsqueeze(1) * (x[source] - x[target]).relu()
    return torch.zeros_like(x).index_add(0, target, messages)


def least_work(m: Symbols) -> Work:
    """Bytes G(E) + p s ((R + N) F + E): x, sums and weights, then their gradients.

    Flops 4 E F: difference, ReLU, product and sum. Backward 6 E F: the weight's gradient is a product and a
    sum, the difference's a product and ReLU, and the latter is summed at both ends.
    """
    return Work(
        m.G(m.E) + m.p * m.s * ((m.R + m.N) * m.F + m.E),
        (4 + (m.p - 1) * 6) * m.E * m.F,
    )


OPERATIONS = (
    Operation(
        "message_passing",
        {
            "pyg": Call("MessagePassing with a message()", _pyg, (SCATTER_ADD,)),
            "sparse": Call("MessagePassing on SparseTensor", _sparse, (SPARSE_TENSOR,)),
            "torch": Call("index_select, relu, index_add", _torch),
            "dgl": Call("update_all(Python function, sum)", _dgl),
        },
        reference=reference,
        reach=1,
        least_work=least_work,
        group="layers",
    ),
)
