"""Selecting rows of features, by a mask and by node numbers."""

from ..annotations import Case, Graph, Tensor
from ..libraries import torch, utils
from ..operation import Call, operation
from .subgraph import drawn


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


OPERATIONS = (
    operation(
        "mask_select",
        pyg=Call("utils.mask_select", lambda mask, x: utils.mask_select(x, 0, mask), build=_mask),
        torch=Call("x[mask]", lambda mask, x: x[mask], build=_mask),
        elsewhere="features are PyTorch tensors there too: see torch",
        reference=lambda graph, x: x[mask(graph)],
        linear=True,
        group="structure",
    ),
    operation(
        "index_select",
        pyg=Call("utils.select", lambda nodes, x: utils.select(x, nodes, 0), build=_nodes),
        torch=Call("torch.index_select", lambda nodes, x: torch.index_select(x, 0, nodes), build=_nodes),
        elsewhere="features are PyTorch tensors there too: see torch",
        reference=lambda graph, x: x[nodes(graph)],
        linear=True,
        group="structure",
    ),
)
