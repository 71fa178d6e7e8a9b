"""Training with the chain: propose until a proposal is accepted, then take steps of Adam."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from gnnbench.suite.operations.mh_aggregate import Edges

from .chain import Propose, State, draw, entropy, row_scale, uncertainty
from .model import GCN, Features, Pattern, features, structure
from .saint import Sampling, Subgraph, induced, node_sampler
from .settings import Settings

ACCEPTS, PROPOSALS = 2000, 7000
"""A published run ends after so many accepted proposals or proposals, whichever comes first."""


class Data(NamedTuple):
    """The training data."""

    edges: Edges
    structure: Pattern
    x: Tensor
    """float [n, F], not normalised."""
    features: Tensor | Features
    """Row-normalised."""
    train: Tensor
    """bool [n]."""
    y: Tensor
    """int64 [n]."""


class View(NamedTuple):
    """A state as input of the model."""

    weight: Tensor
    """float [m]: 1 where an edge is kept."""
    scale: Tensor
    """float [n]: factors of the features."""


def data_of(edges: Edges, x: Tensor, train: Tensor, y: Tensor) -> Data:
    """Make the training data from features [n, F] and classes [n]."""
    return Data(edges, structure(edges), x, features(x), train, y)


@dataclass(frozen=True)
class Progress:
    """The state of a run after a proposal."""

    proposals: int
    accepts: int
    state: State
    loss: float | None
    """The mean loss of the steps; None if the proposal was rejected."""


def optimizer_of(model: GCN, settings: Settings) -> torch.optim.Optimizer:
    """Return Adam with the published learning rate and weight decay."""
    return torch.optim.Adam(model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)


@torch.no_grad()
def certainty(model: GCN, data: Data) -> Tensor:
    """Return h(v) of f(G), without dropout: float [n]."""
    model.eval()
    return uncertainty(model(data.features, data.structure, data.x.new_ones(data.edges.num_edges)))


def view(data: Data, state: State) -> View:
    """Return a state as input of the model."""
    return View(state.kept_edges.to(data.x), row_scale(state.kept_nodes).to(data.x))


def restricted(data: Data, views: tuple[View, View], part: Subgraph) -> tuple[Data, tuple[View, View]]:
    """Return data and views of a subgraph, with the scale of the whole graph."""
    current, proposal = (View(each.weight[part.entries], each.scale[part.nodes]) for each in views)
    inside = data_of(part.edges, data.x[part.nodes], data.train[part.nodes], data.y[part.nodes])
    return inside, (current, proposal)


def loss(
    model: GCN,
    data: Data,
    views: tuple[View, View],
    settings: Settings,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return the loss of an accepted proposal; `views` are the current state and the proposal.

    It is a weighted sum of the cross-entropy of f(current) on the training nodes (0 without such nodes), the
    divergence KL(f(current) ‖ f(proposal)) and the mean entropy of f(G).
    """
    everything = torch.ones_like(views[0].weight)
    whole = model(data.features, data.structure, everything, generator=generator)
    current, proposal = (model(data.features, data.structure, *each, generator) for each in views)
    train = data.train.to(current.dtype)
    supervised = F.cross_entropy(current, data.y, reduction="none") @ train / train.sum().clamp(min=1)
    divergence = F.kl_div(
        proposal.log_softmax(1), current.log_softmax(1), reduction="batchmean", log_target=True
    )
    return (
        supervised + settings.divergence_weight * divergence + settings.entropy_weight * entropy(whole).mean()
    )


def train_step(
    model: GCN,
    optimizer: torch.optim.Optimizer,
    data: Data,
    views: tuple[View, View],
    settings: Settings,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Take one step on the loss of an accepted proposal, and return the loss."""
    model.train()
    optimizer.zero_grad(set_to_none=True)
    value = loss(model, data, views, settings, generator)
    value.backward()
    optimizer.step()
    return value.detach()


def train(
    model: GCN,
    data: Data,
    start: State,
    propose: Propose,
    settings: Settings,
    generator: torch.Generator,
    accepts: int = ACCEPTS,
    proposals: int = PROPOSALS,
    sampling: Sampling | None = None,
) -> Iterator[Progress]:
    """Run the chain and train on accepted proposals; yield after each proposal.

    The target depends on the model, which changes only after an accepted proposal: h is recomputed then.
    The run ends after `accepts` accepted proposals or `proposals` proposals. `generator` makes all random
    numbers, on the graph's device. With `sampling`, steps train on GraphSAINT's subgraphs of G, G(t) and
    G(t+1).
    """
    optimizer = optimizer_of(model, settings)
    sample = node_sampler(data.edges, sampling) if sampling else None
    parts = sampling.samples if sampling else 1
    state, accepted, h = start, 0, certainty(model, data)
    for number in range(1, proposals + 1):
        proposal = propose(state, draw(data.edges, generator), h)
        value = None
        if bool(proposal.accepted):
            views = view(data, state), view(data, proposal.state)
            losses = []
            for _ in range(parts):
                seen = (data, views)
                if sample:
                    seen = restricted(data, views, induced(data.edges, sample(generator)))
                losses.append(train_step(model, optimizer, *seen, settings, generator))
            value = float(torch.stack(losses).mean())
            state, accepted, h = proposal.state, accepted + 1, certainty(model, data)
        yield Progress(number, accepted, state, value)
        if accepted == accepts:
            return
