"""A library's layer, a network of layers, and how its weights are drawn."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

if TYPE_CHECKING:
    from .case import Case


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


def filled(case: "Case", layer: nn.Module, values: Mapping[str, Tensor]) -> nn.Module:
    """Give a layer a case's device and dtype, and all its parameters their values; return it."""
    layer.to(case.device, case.dtype).load_state_dict(values)
    return layer.requires_grad_(case.requires_grad)
