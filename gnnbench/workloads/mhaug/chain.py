"""What the variants of the chain have in common: its graph, its state, its random numbers, its decision."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

HOPS = 2
"""L: convolutions that AGGNet stacks."""


class Edges(NamedTuple):
    """The original graph: directed entries, both directions of each edge, without self-loops."""

    source: Tensor
    """int64 [m]."""
    target: Tensor
    """int64 [m], sorted: entries lie as in a CSR matrix with targets as rows."""
    num_nodes: int

    @property
    def num_edges(self) -> int:
        """m: both directions count."""
        return self.source.numel()


class State(NamedTuple):
    """Where the chain is: what is kept of the graph, and the change that follows from it."""

    kept_edges: Tensor
    """bool [m]: E'."""
    kept_nodes: Tensor
    """bool [n]: k."""
    dropped: Tensor
    """float64 [2]: Δ, the fractions of edges and of nodes that are not kept."""
    changes: Tensor
    """float64 [2, n]: δ(v), how much of each node's aggregate is missing, by edges and by nodes."""
    graph: Any = None
    """A library's graph of what is kept, where a variant has one."""


class Draws(NamedTuple):
    """The random numbers of one proposal and of the decision on it."""

    uniform: Tensor
    """float64 [2] in [0, 1): for the truncated normals of edges and nodes, by their inverse distribution."""
    edge_rank: Tensor
    """int [m]: a permutation; the first so many edges by it are kept."""
    node_rank: Tensor
    """int [n]: likewise."""
    accept: Tensor
    """float64 [1] in [0, 1): without a dimension torch.compile would have the host look at it for a NaN."""


class Proposal(NamedTuple):
    """A proposed state, and what decides on it."""

    state: State
    log_target: Tensor
    """float64 [2]: log p of the current state and of the proposal, up to a constant."""
    log_density: Tensor
    """float64 [2]: log q(proposal | current), log q(current | proposal)."""
    accepted: Tensor
    """bool []."""


Propose = Callable[[State, Draws, Tensor], Proposal]
"""A variant on a graph: called with the current state, the random numbers, and h, float [n]."""


def edges_of(edge_index: Tensor, num_nodes: int) -> Edges:
    """Make the chain's graph from int64 [2, E] sources and targets: no self-loops, nothing twice."""
    source, target = edge_index[:, edge_index[0] != edge_index[1]]
    key = torch.unique(target * num_nodes + source)
    return Edges(key % num_nodes, key // num_nodes, num_nodes)


def full(edges: Edges) -> State:
    """Return the state in which everything is kept: where the chain starts."""
    device = edges.source.device
    return State(
        torch.ones(edges.num_edges, dtype=torch.bool, device=device),
        torch.ones(edges.num_nodes, dtype=torch.bool, device=device),
        torch.zeros(2, dtype=torch.float64, device=device),
        torch.zeros(2, edges.num_nodes, dtype=torch.float64, device=device),
    )


def index_dtype(edges: Edges) -> torch.dtype:
    """Return int32 where it can number the entries of two copies of a graph: it takes half the memory.

    The CPU's sparse products convert int64 each time.
    """
    return torch.int32 if 2 * max(edges.num_edges, edges.num_nodes) < 2**31 else torch.int64


def draw(edges: Edges, generator: torch.Generator) -> Draws:
    """Draw the random numbers of one proposal on the generator's device."""
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
    """Return h(v), the entropy over that of C equal classes: [n], 0 where there is only one class."""
    return entropy(logits) / math.log(max(logits.size(1), 2))


def row_scale(kept_nodes: Tensor) -> Tensor:
    """Return by what each node's features are multiplied: float64 [n], all 0 where no node is kept."""
    scale = kept_nodes.numel() / kept_nodes.sum().clamp(min=1).double()
    return kept_nodes * scale


def accept(log_target: Tensor, log_density: Tensor, uniform: Tensor) -> Tensor:
    """Decide: ln U < (log p* - log p) - (log q(* | current) - log q(current | *)): bool []."""
    ratio = (log_target[1] - log_target[0]) - (log_density[0] - log_density[1])
    return (uniform.log() < ratio).squeeze(0)


def probability(proposal: Proposal) -> float:
    """Return the probability with which a proposal is accepted."""
    target, density = proposal.log_target, proposal.log_density
    return math.exp(min(0.0, float(target[1] - target[0] - density[0] + density[1])))
