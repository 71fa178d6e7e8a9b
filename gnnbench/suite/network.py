"""Networks made of a platform's layers, and the widths and initial weights of a three-layer GCN."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .graphs.catalog import DATASETS
from .graphs.graph import Graph

if TYPE_CHECKING:
    from .case import Case


class Layer(nn.Module):
    """A layer whose parameters are listed in the same order on every platform."""

    def __init__(self, layer: nn.Module, parameters: Iterable[nn.Parameter]) -> None:
        super().__init__()
        self.ordered = nn.ParameterList(parameters)
        self.layer = layer


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


class GIN(nn.Module):
    """Convolutions with ReLU, the mean over each graph's nodes, and a linear layer."""

    def __init__(
        self,
        layers: list[nn.Module],
        out: nn.Module,
        convolve: Callable[[Any, nn.Module, Tensor], Tensor],
        pool: Callable[[Any, Tensor], Tensor],
    ) -> None:
        """Take a platform's layers, a function that applies a layer, and one that averages graphs' nodes."""
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


def glorot(fan_in: int, fan_out: int, generator: torch.Generator) -> Tensor:
    """Return a uniform random weight [in, out] (Glorot and Bengio, AISTATS 2010): float64 on the CPU."""
    bound = (6 / (fan_in + fan_out)) ** 0.5
    uniform = torch.rand(fan_in, fan_out, generator=generator, dtype=torch.float64)
    return (2 * uniform - 1) * bound


def widths(graph: Graph, hidden: int) -> tuple[int, int, int, int]:
    """Return the widths before and after each layer of a three-layer GCN (Kipf and Welling, ICLR 2017).

    On the Planetoid data sets, the second hidden layer is an eighth as wide as the first, as in the published
    profiles (1433 → 256 → 32 → 7 on Cora). On other data sets, both hidden layers have the same width.
    """
    dataset = DATASETS.get(graph.name.partition(":")[0])
    narrows = dataset is not None and dataset.family == "planetoid"
    return graph.num_features, hidden, max(1, hidden // 8) if narrows else hidden, graph.num_classes


def initial_weights(widths: Sequence[int], seed: int = 0) -> list[tuple[Tensor, Tensor]]:
    """Return each layer's weight [in, out] from `glorot` and its zero bias [out]: float64 on the CPU."""
    generator = torch.Generator().manual_seed(seed)
    return [
        (glorot(fan_in, fan_out, generator), torch.zeros(fan_out, dtype=torch.float64))
        for fan_in, fan_out in pairwise(widths)
    ]


def ordered(model: nn.Module) -> list[nn.Parameter]:
    """Return a model's matrices, then its vectors: the order is the same on every platform."""
    return sorted(model.parameters(), key=lambda parameter: parameter.dim() == 1)


def with_parameters(case: "Case", model: nn.Module, values: Iterable[Tensor]) -> nn.Module:
    """Move a model to a case's device and dtype, set its `ordered` parameters to values, and return it."""
    model.to(case.device, case.dtype)
    with torch.no_grad():
        for parameter, value in zip(ordered(model), values, strict=True):
            parameter.copy_(value)
    return model.requires_grad_(case.requires_grad)


def with_random_parameters(case: "Case", model: nn.Module, seed: int = 0) -> Any:
    """Set a model's parameters to random values from `glorot`, equal on all platforms; return the model."""
    generator, values = torch.Generator().manual_seed(seed), []
    for parameter in ordered(model):
        fan_out, fan_in = (1, *parameter.shape)[-2:]
        values.append(glorot(fan_in, fan_out, generator).t().reshape(parameter.shape))
    return with_parameters(case, model, values)


def parameters(model: nn.Module) -> list[Tensor]:
    """Return a model's parameters as a reference takes them: float64 matrices [in, out], then vectors."""
    return [parameter.detach().cpu().double().t() for parameter in ordered(model)]
