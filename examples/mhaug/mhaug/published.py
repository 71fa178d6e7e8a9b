"""The algorithm as published (Park et al., NeurIPS 2021), step by step, with SciPy's densities.

It is the reference for the other variants: correct, readable and slow. Each aggregate gathers and scatters
one column, and the host computes the densities.
"""

from collections.abc import Sequence

import torch
from scipy.special import betaln
from torch import Tensor

from gnnbench.suite.operations.mh_aggregate import HOPS, Edges

from .chain import Draws, Proposal, State, accept
from .settings import Settings


def propose(edges: Edges, settings: Settings, state: State, draws: Draws, uncertainty: Tensor) -> Proposal:
    """Propose a state and decide on it; `uncertainty` is h, float [n]."""
    wanted = drop_fractions(state.dropped.tolist(), draws.uniform.tolist(), settings)
    proposed = augment(edges, draws, wanted)
    log_target = torch.stack(
        [log_target_density(each.changes, uncertainty, settings) for each in (state, proposed)]
    )
    at, to = state.dropped.tolist(), proposed.dropped.tolist()
    pair = [log_proposal_density(*each, edges, settings) for each in ((to, at), (at, to))]
    log_density = torch.tensor(pair, dtype=torch.float64, device=log_target.device)
    return Proposal(proposed, log_target, log_density, accept(log_target, log_density, draws.accept))


def drop_fractions(dropped: Sequence[float], uniform: Sequence[float], settings: Settings) -> Sequence[float]:
    """Draw Δ* of edges and nodes from truncated normals around the current Δ: the quantiles of `uniform`."""
    from scipy.stats import truncnorm  # takes a second to import

    return [
        float(truncnorm.ppf(quantile, -at / part.sigma, (1 - at) / part.sigma, loc=at, scale=part.sigma))
        for at, quantile, part in zip(dropped, uniform, settings.parts, strict=True)
    ]


def augment(edges: Edges, draws: Draws, wanted: Sequence[float]) -> State:
    """Drop ⌊mΔ_E*⌋ edges and ⌊nΔ_V*⌋ nodes of the original graph at random."""
    drop_edges, drop_nodes = (
        int(count * fraction)
        for count, fraction in zip((edges.num_edges, edges.num_nodes), wanted, strict=True)
    )
    kept_edges = draws.edge_rank < edges.num_edges - drop_edges
    kept_nodes = draws.node_rank < edges.num_nodes - drop_nodes
    fractions = [drop_edges / max(edges.num_edges, 1), drop_nodes / edges.num_nodes]
    return State(
        kept_edges,
        kept_nodes,
        torch.tensor(fractions, dtype=torch.float64, device=kept_edges.device),
        changes(edges, kept_edges, kept_nodes),
    )


def changes(edges: Edges, kept_edges: Tensor, kept_nodes: Tensor) -> Tensor:
    """Return δ_E(v) = 1 - agg(1; E')_v / agg(1; E)_v and δ_V(v) = 1 - agg(k; E)_v / agg(1; E)_v: [2, n]."""
    ones = torch.ones(edges.num_nodes, dtype=torch.float64, device=kept_edges.device)
    whole = aggregate(edges.source, edges.target, ones)
    fewer_edges = aggregate(edges.source[kept_edges], edges.target[kept_edges], ones)
    fewer_nodes = aggregate(edges.source, edges.target, kept_nodes.double())
    return 1 - torch.stack((fewer_edges, fewer_nodes)) / whole


def aggregate(source: Tensor, target: Tensor, x: Tensor) -> Tensor:
    """Return AGGNet's sums over neighbours and the node itself: ((A + I)^T)^HOPS x, [n]."""
    for _ in range(HOPS):
        x = x.index_add(0, target, x[source])
    return x


def log_target_density(changes: Tensor, uncertainty: Tensor, settings: Settings) -> Tensor:
    """Return log p: Σ_v -λ1 (δ(v) - μ)² / (2 s(v)²) over edges and nodes, s(v) = a h(v) + b: float64 []."""
    total = torch.zeros((), dtype=torch.float64, device=changes.device)
    for change, part in zip(changes, settings.parts, strict=True):
        deviation = part.scale * uncertainty.double() + part.offset
        total -= (part.weight * (change - part.mean) ** 2 / (2 * deviation**2)).sum()
    return total


def log_proposal_density(to: Sequence[float], at: Sequence[float], edges: Edges, settings: Settings) -> float:
    """Return log q(to | at): Σ log TN(Δ_to; Δ_at, sigma) + λ2 ln B(M (1 - Δ_to) + 1, M Δ_to + 1)."""
    from scipy.stats import truncnorm

    total = 0.0
    for count, y, x, part in zip((edges.num_edges, edges.num_nodes), to, at, settings.parts, strict=True):
        bounds = -x / part.sigma, (1 - x) / part.sigma
        total += float(truncnorm.logpdf(y, *bounds, loc=x, scale=part.sigma))
        if settings.count_weight:
            total += settings.count_weight * float(betaln(count * (1 - y) + 1, count * y + 1))
    return total
