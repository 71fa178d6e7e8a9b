"""The parts of the chain that all variants share: graph, state, random numbers and decision."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gnnbench.suite.operations.mh_aggregate import Edges, index_dtype


class State(NamedTuple):
    """A state of the chain: the kept edges and nodes, and the resulting change."""

    kept_edges: Tensor
    """bool [m]: E'."""
    kept_nodes: Tensor
    """bool [n]: k."""
    dropped: Tensor
    """float64 [2]: Δ, the fractions of dropped edges and nodes."""
    changes: Tensor
    """float64 [2, n]: δ(v), the missing fraction of each node's aggregate, by edges and by nodes."""
    graph: Any = None
    """The library's graph of the kept edges; None for variants without one."""


class Draws(NamedTuple):
    """The random numbers for one proposal and its decision."""

    uniform: Tensor
    """float64 [2] in [0, 1): quantiles for the truncated normals of edges and nodes."""
    edge_rank: Tensor
    """int [m]: a permutation; edges with the lowest ranks are kept."""
    node_rank: Tensor
    """int [n]: the same for nodes."""
    accept: Tensor
    """float64 [1] in [0, 1). With no dimension, torch.compile would make the host check it for NaN."""


class Proposal(NamedTuple):
    """A proposed state, and the values that decide on it."""

    state: State
    log_target: Tensor
    """float64 [2]: log p of the current state and of the proposal, up to a constant."""
    log_density: Tensor
    """float64 [2]: log q(proposal | current), log q(current | proposal)."""
    accepted: Tensor
    """bool []."""


Propose = Callable[[State, Draws, Tensor], Proposal]
"""A variant on a graph; its arguments are the current state, the random numbers, and h, float [n]."""


def edges_of(edge_index: Tensor, num_nodes: int) -> Edges:
    """Make the chain's graph from int64 [2, E] sources and targets, without self-loops and duplicates."""
    source, target = edge_index[:, edge_index[0] != edge_index[1]]
    key = torch.unique(target * num_nodes + source)
    return Edges(key % num_nodes, key // num_nodes, num_nodes)


def full(edges: Edges) -> State:
    """Return the first state of the chain, which keeps everything."""
    device = edges.source.device
    return State(
        torch.ones(edges.num_edges, dtype=torch.bool, device=device),
        torch.ones(edges.num_nodes, dtype=torch.bool, device=device),
        torch.zeros(2, dtype=torch.float64, device=device),
        torch.zeros(2, edges.num_nodes, dtype=torch.float64, device=device),
    )


def draw(edges: Edges, generator: torch.Generator) -> Draws:
    """Draw the random numbers of one proposal, on the generator's device."""
    device = generator.device
    uniform = torch.rand(3, generator=generator, dtype=torch.float64, device=device)
    edge_rank, node_rank = (
        torch.randperm(count, generator=generator, dtype=index_dtype(edges), device=device)
        for count in (edges.num_edges, edges.num_nodes)
    )
    return Draws(uniform[:2], edge_rank, node_rank, uniform[2:])


def entropy(logits: Tensor) -> Tensor:
    """Return the entropy of each node's prediction in nats: [n] for logits [n, C]."""
    log_probability = torch.log_softmax(logits, dim=1)
    return -(log_probability.exp() * log_probability).sum(dim=1)


def uncertainty(logits: Tensor) -> Tensor:
    """Return h(v), the entropy divided by that of C equal classes: [n]; 0 for a single class."""
    return entropy(logits) / math.log(max(logits.size(1), 2))


def row_scale(kept_nodes: Tensor) -> Tensor:
    """Return the factor of each node's features: float64 [n]; all 0 if no node is kept."""
    scale = kept_nodes.numel() / kept_nodes.sum().clamp(min=1).double()
    return kept_nodes * scale


def accept(log_target: Tensor, log_density: Tensor, uniform: Tensor) -> Tensor:
    """Return whether ln U < (log p* - log p) - (log q(* | current) - log q(current | *)): bool []."""
    ratio = (log_target[1] - log_target[0]) - (log_density[0] - log_density[1])
    return (uniform.log() < ratio).squeeze(0)
