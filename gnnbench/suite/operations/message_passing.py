"""A message function of one's own, for which the libraries have no fused kernel: all messages are stored."""

from functools import partial
from typing import Any

from ..annotations import Graph, Tensor
from ..libraries import dgl, on_dgl, pyg_nn, torch
from ..limits import DGL_HALF, SCATTER_ADD
from ..operation import Call, Kernel, operation
from ..platforms import load

_COLUMNS = 4
"""Columns of messages that the reference computes at a time."""


def _pyg(platform: str) -> Kernel:
    """Return the kernel of a MessagePassing, as users of PyG write it."""

    class Differences(pyg_nn.MessagePassing):  # type: ignore[misc]
        def forward(self, x: torch.Tensor, graph: Any, edge_weight: torch.Tensor) -> torch.Tensor:
            return self.propagate(graph, x=x, edge_weight=edge_weight)

        def message(self, x_i: torch.Tensor, x_j: torch.Tensor, edge_weight: torch.Tensor) -> torch.Tensor:
            return edge_weight.unsqueeze(1) * (x_j - x_i).relu()

    propagation = Differences(aggr="sum")
    return Kernel(load(platform).layer_graph, lambda graph, x, weight: propagation(x, graph, weight))


def _torch(edge_index: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    source, target = edge_index
    difference = x.index_select(0, source) - x.index_select(0, target)
    return torch.zeros_like(x).index_add(0, target, weight.unsqueeze(1) * difference.relu())


def _dgl() -> Kernel:
    total = dgl.function.sum("message", "out")

    def message(edges: Any) -> dict[str, Tensor]:
        difference = edges.src["x"] - edges.dst["x"]
        return {"message": edges.data["w"].unsqueeze(1) * difference.relu()}

    def run(graph: Any, x: Tensor, weight: Tensor) -> Tensor:
        with graph.local_scope():
            graph.ndata["x"] = x
            graph.edata["w"] = weight
            graph.update_all(message, total)
            return graph.ndata["out"]

    return Kernel(on_dgl.structure, run)


def reference(graph: Graph, x: Tensor, weight: Tensor) -> Tensor:
    """Return the sums over neighbours of weight * relu(x[source] - x[target]): [N, F].

    Gradients are comparable although ReLU has a kink, because a difference of two floating-point numbers has
    the right sign in every dtype.
    """
    # Computed again in the backward pass, as autograd would keep several numbers for each message.
    parts = (
        torch.utils.checkpoint.checkpoint(_sums, graph.edge_index, columns, weight, use_reentrant=False)
        for columns in x.split(_COLUMNS, dim=1)
    )
    return torch.cat(list(parts), dim=1)


def _sums(entries: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    source, target = entries
    messages = weight.unsqueeze(1) * (x[source] - x[target]).relu()
    return torch.zeros_like(x).index_add(0, target, messages)


OPERATIONS = (
    operation(
        "message_passing",
        pyg=Call("MessagePassing with a message()", make=partial(_pyg, "pyg"), limits=(SCATTER_ADD,)),
        sparse=Call("MessagePassing on SparseTensor", make=partial(_pyg, "sparse")),
        torch=Call("index_select, relu, index_add", _torch, build="edges"),
        dgl=Call("update_all(Python function, sum)", make=_dgl, limits=(DGL_HALF,)),
        reference=reference,
        reach=1,
        group="layers",
    ),
)
