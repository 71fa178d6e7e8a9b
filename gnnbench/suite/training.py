"""Full-batch training of a network: its loss, and an epoch."""

from types import ModuleType
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .case import Case
from .network import Network, initial_weights, widths

LEARNING_RATE = 0.01


class Training(NamedTuple):
    """The arguments of `epoch`: model, graph, features [N, F], training nodes [T] and their classes, Adam."""

    model: Network
    structure: Any
    x: Tensor
    train: Tensor
    y: Tensor
    optimizer: torch.optim.Optimizer


def prepare(case: Case, module: ModuleType) -> Training:
    """Return the arguments of an epoch of a platform's three-layer GCN."""
    weights = initial_weights(widths(case.graph, case.spec.hidden))
    layers = [module.layer(*(value.to(case.device, case.dtype) for value in pair)) for pair in weights]
    return prepare_model(case, Network(layers, module.apply), module.layer_graph(case))


def prepare_model(case: Case, model: Network, structure: Any) -> Training:
    """Return the arguments of an epoch: the model, its structure, the case's features and classes, Adam."""
    graph = case.graph
    train = graph.train_mask.nonzero().squeeze(1)
    inputs = case.node_features(), train.to(case.device), graph.y[train].to(case.device)
    return Training(model, structure, *inputs, torch.optim.Adam(model.parameters(), lr=LEARNING_RATE))


def loss(logits: Tensor, train: Tensor, y: Tensor) -> Tensor:
    """Return the mean negative log-likelihood of logits [N, C] over the training nodes [T]."""
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
