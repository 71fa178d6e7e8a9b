"""The definitions in float64 that benchmarks are checked against; of a proposal, it is the published variant.

tests/dense.py checks the published variant with dense matrices.
"""

import torch
from torch import Tensor

from gnnbench.suite import definitions
from gnnbench.suite.graphs.graph import Graph
from gnnbench.suite.operations.mh_aggregate import DROPPED, Edges

from . import published
from .chain import Draws, State, edges_of, row_scale
from .settings import Settings
from .workloads import example


def _example(graph: Graph) -> tuple[State, Draws, Edges]:
    edges = edges_of(graph.edge_index, graph.num_nodes)
    return *example(edges), edges


def augment(graph: Graph, *_: Tensor) -> Tensor:
    """Return the first feature, augmented by the example's proposal: [N, 1]."""
    _, draws, edges = _example(graph)
    state = published.augment(edges, draws, DROPPED)
    return graph.x[:, :1].double() * row_scale(state.kept_nodes).unsqueeze(1)


def proposal(graph: Graph, uncertainty: Tensor) -> Tensor:
    """Return log p of the example's state and proposal, and log q in both directions: [4]."""
    state, draws, edges = _example(graph)
    found = published.propose(edges, Settings(), state, draws, uncertainty)
    return torch.cat((found.log_target, found.log_density))


def loss(graph: Graph, uncertainty: Tensor, *parameters: Tensor) -> Tensor:
    """Return the loss of the example before its training step, without dropout: [].

    `parameters` are the two weights, then the two biases.
    """
    settings = Settings()
    state, draws, edges = _example(graph)
    proposed = published.propose(edges, settings, state, draws, uncertainty).state
    x = graph.x.double()
    x = x / x.abs().sum(dim=1, keepdim=True).clamp(min=1e-300)

    def log_probability(state: State | None) -> Tensor:
        weight = (
            torch.ones(graph.num_edges, dtype=torch.float64) if state is None else state.kept_edges.double()
        )
        entries, weight = definitions.with_self_loops(graph, weight)
        weight = definitions.normalize(entries, weight, graph.num_nodes)
        h = x if state is None else x * row_scale(state.kept_nodes).unsqueeze(1)
        h = (definitions.aggregate(entries, weight, h @ parameters[0]) + parameters[2]).relu()
        return (definitions.aggregate(entries, weight, h @ parameters[1]) + parameters[3]).log_softmax(dim=1)

    whole, current, proposal = (log_probability(each) for each in (None, state, proposed))
    supervised = -current[graph.train_mask].gather(1, graph.y[graph.train_mask].unsqueeze(1)).mean()
    divergence = (current.exp() * (current - proposal)).sum(dim=1).mean()
    entropy = -(whole.exp() * whole).sum(dim=1).mean()
    return supervised + settings.divergence_weight * divergence + settings.entropy_weight * entropy
