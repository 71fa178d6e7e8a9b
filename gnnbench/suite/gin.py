"""A graph isomorphism network (Xu et al., ICLR 2019) that classifies small graphs, by library."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .case import Case
from .libraries import dgl, pyg_nn
from .network import glorot

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


def build(case: Case) -> GIN:
    """Return the network on a case's platform, with weights by `glorot` and zero biases."""
    hidden = case.spec.hidden
    generator = torch.Generator().manual_seed(0)
    inputs = [case.graph.num_features, *[hidden] * (DEPTH - 1)]
    networks = [
        nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden)) for width in inputs
    ]
    model = _on_platform(case.spec.platform, networks, nn.Linear(hidden, case.graph.num_classes))
    model.to(case.device, case.dtype)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.zero_()
            else:
                fan_out, fan_in = parameter.shape
                parameter.copy_(glorot(fan_in, fan_out, generator).t())
    return model


def _on_platform(platform: str, networks: list[nn.Sequential], out: nn.Linear) -> GIN:
    if platform == "dgl":

        def means(graph: Any, x: Tensor) -> Any:
            with graph.local_scope():
                graph.ndata["x"] = x
                return dgl.mean_nodes(graph, "x")

        convolutions = [dgl.nn.GINConv(network, "sum") for network in networks]
        return GIN(convolutions, out, lambda graph, layer, x: layer(graph, x), means)
    return GIN(
        [pyg_nn.GINConv(network) for network in networks],
        out,
        lambda batch, layer, x: layer(x, batch.edge_index),
        lambda batch, x: pyg_nn.global_mean_pool(x, batch.batch, batch.num_graphs),
    )
