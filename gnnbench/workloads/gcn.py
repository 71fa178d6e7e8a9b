"""The three-layer graph convolutional network (Kipf and Welling, ICLR 2017), on any platform."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .graphs.catalog import DATASETS
from .graphs.graph import Graph
from .platforms import PlatformModule


class GCN(nn.Module):
    """Three convolutions with ReLU between them."""

    def __init__(
        self, layers: Sequence[nn.Module], convolve: Callable[[Any, nn.Module, Tensor], Tensor]
    ) -> None:
        """Take a platform's layers, and a function that applies one: convolve(structure, layer, x)."""
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.convolve = convolve

    def forward(self, structure: Any, x: Tensor) -> Tensor:
        """Return the logits [N, C] for features [N, F]."""
        for index, layer in enumerate(self.layers):
            x = self.convolve(structure, layer, x if index == 0 else F.relu(x))
        return x


def widths(graph: Graph, hidden: int) -> tuple[int, int, int, int]:
    """Return the feature widths before and after each layer.

    On the Planetoid data sets the second hidden layer has an eighth of the first one's width, as in the
    published profiles (1433 → 256 → 32 → 7 on Cora). On others both are equal (128 → 128 → 128 → 40 on
    ogbn-arxiv).
    """
    dataset = DATASETS.get(graph.name.partition(":")[0])
    narrows = dataset is not None and dataset.family == "planetoid"
    return graph.num_features, hidden, max(1, hidden // 8) if narrows else hidden, graph.num_classes


def initial_weights(widths: Sequence[int], seed: int = 0) -> list[tuple[Tensor, Tensor]]:
    """Return each layer's weight [in, out], Glorot uniform (AISTATS 2010), and zero bias [out].

    They are float64 on the CPU, so that every platform, dtype and device starts from the same values.
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = []
    for fan_in, fan_out in pairwise(widths):
        bound = (6 / (fan_in + fan_out)) ** 0.5
        uniform = torch.rand(fan_in, fan_out, generator=generator, dtype=torch.float64)
        drawn.append(((2 * uniform - 1) * bound, torch.zeros(fan_out, dtype=torch.float64)))
    return drawn


def build(
    module: PlatformModule,
    weights: Sequence[tuple[Tensor, Tensor]],
    device: torch.device,
    dtype: torch.dtype,
) -> GCN:
    """Return a platform's network, with copies of the layers' weights and biases."""
    layers = [
        module.layer(weight.to(device, dtype), bias.to(device, dtype), cached=module.MODEL_CACHED)
        for weight, bias in weights
    ]
    return GCN(layers, module.convolution(cached=module.MODEL_CACHED).run)
