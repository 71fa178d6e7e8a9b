"""A library's layer, with parameters as the reference takes them."""

from collections.abc import Iterable

from torch import nn


class Layer(nn.Module):
    """Holds a layer and its parameters, in an order that is the same on every platform."""

    def __init__(self, layer: nn.Module, parameters: Iterable[nn.Parameter], *, transposed: bool) -> None:
        """Take all parameters of the layer; `transposed` says whether its matrices are [out, in]."""
        super().__init__()
        self.ordered = nn.ParameterList(parameters)
        self.layer = layer
        self.transposed = transposed
