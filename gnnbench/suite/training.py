"""Full-batch training of a network: its loss, and an epoch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .case import Case
from .network import Network
from .platforms import PlatformModule

LEARNING_RATE = 0.01


@dataclass(frozen=True)
class Training:
    """A model, its optimiser and its inputs: features [N, F]; training nodes [T] and their labels.

    These are classes, int64 [T], or tasks, bool [T, C].
    """

    model: Network
    optimizer: torch.optim.Optimizer
    structure: Any
    x: Tensor
    train: Tensor
    y: Tensor


def prepare(case: Case, module: PlatformModule, weights: Sequence[tuple[Tensor, Tensor]]) -> Training:
    """Build a platform's GCN from initial weights, with its structure and Adam (lr 0.01)."""
    layers = [module.layer(*(value.to(case.device, case.dtype) for value in each)) for each in weights]
    kernel = module.convolution()
    return prepare_model(case, Network(layers, kernel.run), kernel.build(case))


def prepare_model(case: Case, model: Network, structure: Any) -> Training:
    """Add Adam to a model and its structure, and the case's features and labels."""
    graph = case.graph
    train = graph.train_mask.nonzero().squeeze(1)
    y = graph.y.bool() if graph.y.is_floating_point() else graph.y
    return Training(
        model=model,
        optimizer=torch.optim.Adam(model.parameters(), lr=LEARNING_RATE),
        structure=structure,
        x=case.node_features(),
        train=train.to(case.device),
        y=y[train].to(case.device),
    )


def loss(logits: Tensor, train: Tensor, y: Tensor) -> Tensor:
    """Return the mean negative log-likelihood of logits [N, C] over the training nodes [T].

    For tasks it is binary cross-entropy.
    """
    if y.dtype == torch.bool:
        return F.binary_cross_entropy_with_logits(logits[train], y.to(logits.dtype))
    return F.nll_loss(F.log_softmax(logits, dim=1)[train], y)


def epoch(
    model: Network, structure: Any, x: Tensor, train: Tensor, y: Tensor, optimizer: torch.optim.Optimizer
) -> Tensor:
    """Train for one epoch: forward, loss, backward, step; return the loss before the step."""
    optimizer.zero_grad(set_to_none=True)
    value = loss(model(structure, x), train, y)
    value.backward()
    optimizer.step()
    return value
