"""A library's layer, a network of layers, and how its weights are drawn."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Layer(nn.Module):
    """Holds a layer and its parameters, in an order that is the same on every platform."""

    def __init__(self, layer: nn.Module, parameters: Iterable[nn.Parameter], *, transposed: bool) -> None:
        """Take all parameters of the layer; `transposed` says whether its matrices are [out, in]."""
        super().__init__()
        self.ordered = nn.ParameterList(parameters)
        self.layer = layer
        self.transposed = transposed


class Network(nn.Module):
    """Layers with an activation between them."""

    def __init__(
        self,
        layers: Sequence[nn.Module],
        convolve: Callable[[Any, nn.Module, Tensor], Tensor],
        activation: Literal["relu", "elu"] = "relu",
    ) -> None:
        """Take a platform's layers, and a function that applies one: convolve(structure, layer, x)."""
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.convolve = convolve
        self.activation = activation

    def forward(self, structure: Any, x: Tensor) -> Tensor:
        """Return the logits [N, C] for features [N, F]."""
        for index, layer in enumerate(self.layers):
            if index:
                x = getattr(F, self.activation)(x)
            x = self.convolve(structure, layer, x)
        return x


def glorot(fan_in: int, fan_out: int, generator: torch.Generator) -> Tensor:
    """Draw a weight [in, out], uniform (Glorot and Bengio, AISTATS 2010): float64 on the CPU."""
    bound = (6 / (fan_in + fan_out)) ** 0.5
    uniform = torch.rand(fan_in, fan_out, generator=generator, dtype=torch.float64)
    return (2 * uniform - 1) * bound


def filled(layer: Any, names: Sequence[str], values: Sequence[Tensor]) -> Any:
    """Give a layer copies of the values of all its parameters, their device and dtype; return it."""
    layer.to(values[0]).load_state_dict(dict(zip(names, values, strict=True)))
    return layer
