"""What the benchmarks time: a state in the middle of a run, on a case's graph, with fixed random numbers."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from gnnbench.suite.case import Case
from gnnbench.suite.graphs.graph import Graph
from gnnbench.suite.operations.mh_aggregate import AGGREGATES, DROPPED, Edges

from . import optimised, published, training
from .chain import Draws, Propose, State, draw, full, row_scale
from .model import GCN
from .settings import Settings

PLATFORMS = {
    "published": ("torch",),
    "profiled": ("dgl",),
    "optimised": ("pyg", "sparse", "torch", "dgl"),
    "compiled": ("torch",),
}
"""By variant, the libraries that it can use."""

Workload = tuple[Callable[..., Tensor], tuple[Any, ...]]
"""The function to time, and its inputs."""


def example(edges: Edges) -> tuple[State, Draws]:
    """Return a state, and the random numbers of a proposal that is accepted, on the graph's device."""
    generator = torch.Generator().manual_seed(0)
    first, second = (
        Draws(*(each.to(edges.source.device) for each in draw(edges, generator))) for _ in range(2)
    )
    return published.augment(edges, first, DROPPED), second._replace(accept=torch.zeros_like(second.accept))


def network(graph: Graph, hidden: int) -> GCN:
    """Return the untrained model, in float32 on the CPU."""
    with torch.random.fork_rng(devices=()):
        torch.default_generator.manual_seed(0)  # torch.manual_seed would also seed the GPUs
        return GCN(graph.num_features, graph.num_classes, _settings(hidden))


def augment(case: Case, variant: str) -> Workload:
    """Return the dropping of edges and nodes; its result is the first feature after augmentation."""
    edges, x = _edges(case), case.node_features()
    _, draws = example(edges)
    if variant == "profiled":
        from . import profiled

        loop = profiled.loop(edges, x)
        return _built, (loop.graph, profiled.initialize(loop.graph), draws, DROPPED)
    count = torch.tensor([edges.num_edges, edges.num_nodes], device=case.device)
    keep = count - (count * torch.tensor(DROPPED, dtype=torch.float64, device=case.device)).long()
    return _masked, (x[:, :1].contiguous(), draws, keep)


def proposal(case: Case, variant: str) -> Workload:
    """Return a whole proposal, with its decision."""
    return _log_densities, _chain(case, variant)


def train(case: Case, variant: str) -> Workload:
    """Return an accepted proposal and its training step; without dropout, whose numbers vary by device."""
    model = network(case.graph, case.spec.hidden).to(case.device, case.dtype)
    train, y = case.graph.train_mask.to(case.device), case.graph.y.to(case.device)
    data = training.data_of(_edges(case), case.node_features(), train, y)
    settings = _settings(case.spec.hidden)
    optimizer = training.optimizer_of(model, settings)
    return partial(_accepted_step, settings), (*_chain(case, variant), model, optimizer, data)


def _settings(hidden: int) -> Settings:
    return Settings(hidden=hidden, dropout=0.0)


def _edges(case: Case) -> Edges:
    source, target = case.edge_index()
    return Edges(source, target, case.graph.num_nodes)


def _chain(case: Case, variant: str) -> tuple[Propose, State, Draws, Tensor]:
    edges = _edges(case)
    start, draws = example(edges)
    state, propose = prepare(variant, case.spec.platform, edges, case.node_features(), Settings(), start)
    return propose, state, draws, case.tensor(torch.linspace(0, 1, edges.num_nodes)).detach()


def _built(graph: Any, edge_list: Tensor, draws: Draws, dropped: tuple[float, float]) -> Tensor:
    from . import profiled

    x: Tensor = profiled.graph_augmentation(graph, edge_list, draws, dropped).ndata["x"][:, :1]
    return x


def _masked(x: Tensor, draws: Draws, keep: Tensor) -> Tensor:
    _, kept_nodes = optimised.augment(draws.edge_rank, draws.node_rank, keep)
    return x * row_scale(kept_nodes).to(x.dtype).unsqueeze(1)


def _log_densities(propose: Propose, state: State, draws: Draws, h: Tensor) -> Tensor:
    found = propose(state, draws, h)
    return torch.cat((found.log_target, found.log_density)).to(h.dtype)


def _accepted_step(
    settings: Settings,
    propose: Propose,
    state: State,
    draws: Draws,
    h: Tensor,
    model: GCN,
    optimizer: torch.optim.Optimizer,
    data: training.Data,
) -> Tensor:
    found = propose(state, draws, h)
    assert found.accepted
    views = training.view(data, state), training.view(data, found.state)
    return training.train_step(model, optimizer, data, views, settings)


def prepare(
    variant: str, platform: str, edges: Edges, x: Tensor, settings: Settings, start: State | None = None
) -> tuple[State, Propose]:
    """Return a variant's first state and its proposal step, for features x [n, F].

    The platform is one of the variant's. Without `start`, the first state keeps everything.
    """
    state = start or full(edges)
    if variant == "published":
        return state, partial(published.propose, edges, settings)
    if variant == "profiled":
        from . import profiled

        loop = profiled.loop(edges, x)
        propose = partial(profiled.propose, loop, settings)
        return profiled.with_graph(edges, x, state), propose
    if variant == "compiled":
        from . import compiled

        return state, partial(compiled.propose(), compiled.prepare(edges, settings))
    apply = partial(optimised.apply, AGGREGATES[platform](edges))
    return state, partial(optimised.propose, optimised.prepare(edges, settings, apply))
