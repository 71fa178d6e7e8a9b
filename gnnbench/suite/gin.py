"""A graph isomorphism network (Xu et al., ICLR 2019) that classifies small graphs, by library."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from .case import Case
from .libraries import dgl, on_dgl, pyg_nn
from .operations import layers, pool

DEPTH = 3
"""Convolutions, each with a network of two linear layers."""


class GIN(nn.Module):
    """Convolutions with ReLU, means over each graph, and a linear layer."""

    def __init__(
        self,
        layers: list[nn.Module],
        out: nn.Module,
        convolve: Callable[[Any, nn.Module, Tensor], Tensor],
        pool: Callable[[Any, Tensor], Tensor],
    ) -> None:
        """Take a platform's layers, and functions that apply one and that take means, on its batches."""
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.out = out
        self.convolve = convolve
        self.pool = pool

    def forward(self, batch: Any, x: Tensor) -> Tensor:
        """Return the logits [B, C] for a batch of B graphs with features x [n, D]."""
        for layer in self.layers:
            x = self.convolve(batch, layer, x).relu()
        logits: Tensor = self.out(self.pool(batch, x))
        return logits


def build(case: Case) -> nn.Module:
    """Return the network on a case's platform, with weights by `glorot`."""
    hidden = case.spec.hidden
    inputs = [case.graph.num_features, *[hidden] * (DEPTH - 1)]
    networks = [
        nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden)) for width in inputs
    ]
    out = nn.Linear(hidden, case.graph.num_classes)
    if case.spec.platform == "dgl":
        convolutions = [dgl.nn.GINConv(network, "sum") for network in networks]
        return layers.drawn(case, GIN(convolutions, out, on_dgl.apply, pool.mean_dgl))
    model = GIN(
        [pyg_nn.GINConv(network) for network in networks],
        out,
        lambda batch, layer, x: layer(x, batch.edge_index),
        lambda batch, x: pyg_nn.global_mean_pool(x, batch.batch, batch.num_graphs),
    )
    return layers.drawn(case, model)
