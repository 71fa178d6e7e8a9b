"""The same chain for the same random numbers, optimised.

Repeated work is done once: the structure, the ego graph's aggregate, the current state's δ. The device does
the host's work, in torch. One product per hop handles both columns. Dropping an edge builds and copies
nothing: the edge gets the weight 0. The host reads the decision only.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from gnnbench.suite.operations.mh_aggregate import Aggregate, Edges, index_dtype

from .chain import Draws, Proposal, State, accept
from .settings import Settings

Apply = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]
"""Drops and aggregates: takes the ranks of edges and nodes and the numbers to keep, int64 [2]; returns the
kept edges, the kept nodes and their aggregate."""


class Constants(NamedTuple):
    """The settings for edges and nodes as tensors on the device: float64 [2] each."""

    size: Tensor
    """int64: m, n."""
    mean: Tensor
    weight: Tensor
    scale: Tensor
    offset: Tensor
    sigma: Tensor
    count_weight: float


def constants(edges: Edges, settings: Settings) -> Constants:
    """Copy the settings to the graph's device."""
    device = edges.source.device
    columns = torch.tensor(
        [[part.mean, part.weight, part.scale, part.offset, part.sigma] for part in settings.parts],
        dtype=torch.float64,
        device=device,
    )
    size = torch.tensor([edges.num_edges, edges.num_nodes], device=device)
    mean, weight, scale, offset, sigma = columns.t().contiguous()
    return Constants(size, mean, weight, scale, offset, sigma, settings.count_weight)


class Fixed(NamedTuple):
    """What all proposals on a graph share."""

    constants: Constants
    whole: Tensor
    """agg(1; E), float64 [n]."""
    apply: Apply


def prepare(edges: Edges, settings: Settings, apply: Apply) -> Fixed:
    """Compute the shared part for a graph."""
    values = constants(edges, settings)
    first = values.size.new_zeros(1, dtype=index_dtype(edges))
    _, _, sums = apply(first.expand(edges.num_edges), first.expand(edges.num_nodes), values.size)
    return Fixed(values, sums[0].clone(), apply)


@torch.no_grad()
def propose(fixed: Fixed, state: State, draws: Draws, uncertainty: Tensor) -> Proposal:
    """Propose a state and decide on it; `uncertainty` is h, float [n]."""
    size = fixed.constants.size
    drop = drop_counts(fixed.constants, state, draws)
    kept_edges, kept_nodes, sums = fixed.apply(draws.edge_rank, draws.node_rank, size - drop)
    changes = 1 - sums / fixed.whole
    proposed = State(kept_edges, kept_nodes, drop.double() / size.clamp(min=1), changes)
    log_target = log_target_densities(fixed.constants, state.changes, changes, uncertainty)
    log_density = log_proposal_densities(fixed.constants, state.dropped, proposed.dropped)
    return Proposal(proposed, log_target, log_density, accept(log_target, log_density, draws.accept))


def drop_counts(constants: Constants, state: State, draws: Draws) -> Tensor:
    """Return ⌊M Δ*⌋, with Δ* from truncated normals around the current Δ: int64 [2]."""
    wanted = _quantile(draws.uniform, state.dropped, constants.sigma)
    return (constants.size * wanted).long()


def apply(
    aggregate: Aggregate, edge_rank: Tensor, node_rank: Tensor, keep: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the kept edges, the kept nodes and their aggregate."""
    kept_edges, kept_nodes = augment(edge_rank, node_rank, keep)
    return kept_edges, kept_nodes, both_columns(aggregate, kept_edges, kept_nodes)


def both_columns(aggregate: Aggregate, kept_edges: Tensor, kept_nodes: Tensor) -> Tensor:
    """Return a state's aggregates, float64 [2, n]; a separate function so that profiles show a range."""
    return aggregate(kept_edges, kept_nodes)


def augment(edge_rank: Tensor, node_rank: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
    """Return the kept edges and nodes: bool [m] and [n]."""
    return edge_rank < keep[0], node_rank < keep[1]


def log_target_densities(constants: Constants, before: Tensor, after: Tensor, uncertainty: Tensor) -> Tensor:
    """Return log p of both states in one pass over the nodes: float64 [2]."""
    scale, offset, weight, mean = (
        each.unsqueeze(1) for each in (constants.scale, constants.offset, constants.weight, constants.mean)
    )
    precision = weight / (2 * (scale * uncertainty.double() + offset) ** 2)
    return torch.stack([-(precision * (each - mean) ** 2).sum() for each in (before, after)])


def log_proposal_densities(constants: Constants, current: Tensor, proposed: Tensor) -> Tensor:
    """Return log q(proposal | current) and log q(current | proposal): float64 [2]."""
    at = torch.stack((current, proposed))
    to = at.flip(0)
    log_density = _log_density(to, at, constants.sigma)
    if not constants.count_weight:
        return log_density.sum(dim=1)
    kept, gone = constants.size * (1 - to) + 1, constants.size * to + 1
    log_beta = torch.lgamma(kept) + torch.lgamma(gone) - torch.lgamma(kept + gone)
    return (log_density + constants.count_weight * log_beta).sum(dim=1)


def _quantile(uniform: Tensor, mean: Tensor, sigma: Tensor) -> Tensor:
    """Return the quantiles `uniform` of a normal distribution truncated to [0, 1]: float64, within [0, 1].

    SciPy's truncnorm computes the same on the host. The mean must be within [0, 1]: then the ends are on
    either side of it, and differences of erf do not lose precision.

    Args:
        uniform: float64, in [0, 1).
        mean: float64, in [0, 1], of the normal before truncation.
        sigma: float64, positive: its standard deviation.
    """
    low, high = torch.special.ndtr(-mean / sigma), torch.special.ndtr((1 - mean) / sigma)
    return (mean + sigma * torch.special.ndtri(low + uniform * (high - low))).clamp(0, 1)


def _log_density(value: Tensor, mean: Tensor, sigma: Tensor) -> Tensor:
    """Return the log density of the same distribution at a value in [0, 1]: float64."""
    root = sigma * math.sqrt(2)
    inside = (torch.erf((1 - mean) / root) + torch.erf(mean / root)) / 2
    return -(((value - mean) / root) ** 2) - torch.log(sigma * math.sqrt(2 * math.pi) * inside)
