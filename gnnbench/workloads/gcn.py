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
        """Take a platform's layers and the kernel that applies one to a structure and features."""
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

    On the Planetoid sets the second hidden layer has an eighth of the first, as in the published profiles
    of a 1433 → 256 → 32 → 7 network on Cora; elsewhere both are equal (128 → 128 → 128 → 40 on ogbn-arxiv).
    """
    dataset = DATASETS.get(graph.name.partition(":")[0])
    narrows = dataset is not None and dataset.family == "planetoid"
    return graph.num_features, hidden, max(1, hidden // 8) if narrows else hidden, graph.num_classes


def initial_weights(widths: Sequence[int], seed: int = 0) -> list[tuple[Tensor, Tensor]]:
    """Draw a layer's weight [in, out] (Glorot and Bengio, AISTATS 2010: uniform) and zero bias [out], each.

    float64 on the CPU, so that every platform, dtype and device starts from the same numbers.
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
    """Make a platform's network from the weights and biases of its layers, which are copied."""
    layers = [
        module.layer(weight.to(device, dtype), bias.to(device, dtype), cached=module.MODEL_CACHED)
        for weight, bias in weights
    ]
    return GCN(layers, module.convolution(cached=module.MODEL_CACHED).run)
