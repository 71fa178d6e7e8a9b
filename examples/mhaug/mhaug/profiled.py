"""The loop as it was profiled: on DGL, with AGGNet; each range of the published profile is a function.

The port's faults are corrected; its costs are kept: graphs are rebuilt, features are copied, `aggregate` is
called four times for two states and once for the ego graph, and SciPy computes densities on the host. Only
the edge list is made by one operator, so that speed-ups do not come from that.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from gnnbench.suite.operations.mh_aggregate import HOPS, Edges
from gnnbench.suite.platforms.dgl import DGLGraph, dgl

from .chain import Draws, Proposal, State, accept
from .published import drop_fractions, log_proposal_density
from .settings import Settings


class AGGNet(nn.Module):
    """HOPS stacked graph convolutions 1 → 1 without normalisation and bias, with weight 1."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(dgl.nn.GraphConv(1, 1, norm="none", bias=False) for _ in range(HOPS))
        for parameter in self.parameters():
            nn.init.ones_(parameter)

    def forward(self, graph: DGLGraph, x: Tensor) -> Tensor:
        """Return the aggregate of x [n, 1] over a graph with self-loops: [n, 1]."""
        for layer in self.layers:
            x = layer(graph, x)
        return x


def with_graph(edges: Edges, x: Tensor, state: State) -> State:
    """Return a state with its DGLGraph, from which the loop reads what is kept."""
    source, target = edges.source[state.kept_edges], edges.target[state.kept_edges]
    graph = dgl.graph((source, target), num_nodes=edges.num_nodes)
    graph.ndata["x"], graph.ndata["kept"] = x, state.kept_nodes
    return state._replace(graph=message_passing(graph))


class Loop(NamedTuple):
    """What the loop keeps between proposals."""

    edges: Edges
    graph: DGLGraph
    """The original graph, with features `x`."""
    looped: DGLGraph
    """The original graph with self-loops."""
    net: AGGNet


def loop(edges: Edges, x: Tensor) -> Loop:
    """Return what the loop keeps, for features x [n, F]; each proposal makes a changed copy of these."""
    graph = dgl.graph((edges.source, edges.target), num_nodes=edges.num_nodes)
    graph.ndata["x"] = x
    return Loop(edges, graph, message_passing(graph), AGGNet().to(x.device).double())


@torch.no_grad()
def propose(
    loop: Loop,
    settings: Settings,
    state: State,
    draws: Draws,
    uncertainty: Tensor,
) -> Proposal:
    """Propose a state and decide on it; `state` has its graph, and `uncertainty` is h, float [n]."""
    edges, graph = loop.edges, loop.graph
    edge_list = initialize(graph)
    wanted = calculate_delta_value(state, draws, settings)
    augmented = graph_augmentation(graph, edge_list, draws, wanted)
    kept = augmented.ndata["kept"]
    dropped = [
        1 - augmented.num_edges() / max(edges.num_edges, 1),
        1 - kept.sum().item() / edges.num_nodes,
    ]
    augmented_looped = message_passing(augmented)
    ego = calculate_ego_value(loop.net, loop.looped)
    deltas = calculate_augmented_delta(loop.net, loop.looped, (state.graph, augmented_looped), ego)
    deviations = calculate_distribution(uncertainty, settings)
    log_target = compute_p_aug(deltas, deviations, settings)
    log_density = compute_q_aug(state.dropped.tolist(), dropped, edges, settings)
    proposed = State(
        draws.edge_rank < augmented.num_edges(),
        kept,
        torch.tensor(dropped, dtype=torch.float64, device=kept.device),
        deltas[1],
        augmented_looped,
    )
    return Proposal(proposed, log_target, log_density, accept(log_target, log_density, draws.accept))


def initialize(graph: DGLGraph) -> Tensor:
    """Return the edge list of the original graph: int64 [2, m]; the port read each element by itself."""
    return torch.stack(graph.edges())


def calculate_delta_value(state: State, draws: Draws, settings: Settings) -> Sequence[float]:
    """Draw Δ* of edges and nodes from truncated normals around the current Δ."""
    return drop_fractions(state.dropped.tolist(), draws.uniform.tolist(), settings)


def graph_augmentation(graph: DGLGraph, edge_list: Tensor, draws: Draws, wanted: Sequence[float]) -> DGLGraph:
    """Build the graph of the kept edges, with a copy of the features of the kept nodes."""
    num_edges, num_nodes = graph.num_edges(), graph.num_nodes()
    drop_edges, drop_nodes = int(num_edges * wanted[0]), int(num_nodes * wanted[1])
    source, target = edge_list[:, draws.edge_rank < num_edges - drop_edges]
    augmented = dgl.graph((source, target), num_nodes=num_nodes)
    kept = draws.node_rank < num_nodes - drop_nodes
    x = graph.ndata["x"]
    scale = kept.to(x) * (num_nodes / max(num_nodes - drop_nodes, 1))
    augmented.ndata["x"], augmented.ndata["kept"] = x * scale.unsqueeze(1), kept
    return augmented


def message_passing(graph: DGLGraph) -> DGLGraph:
    """Return the graph with self-loops, for message passing."""
    return dgl.add_self_loop(graph)


def aggregate(net: AGGNet, graph: DGLGraph, kept: Tensor | None = None) -> Tensor:
    """Return the aggregate of ones, or of the kept nodes: float64 [n, 1]."""
    ones = torch.ones(graph.num_nodes(), 1, dtype=torch.float64, device=graph.device)
    result: Tensor = net(graph, ones if kept is None else ones * kept.unsqueeze(1))
    return result


def calculate_ego_value(net: AGGNet, looped: DGLGraph) -> Tensor:
    """Return the aggregate of ones over the original graph: float64 [n, 1]."""
    return aggregate(net, looped)


def calculate_augmented_delta(
    net: AGGNet, looped: DGLGraph, states: Sequence[DGLGraph], ego: Tensor
) -> list[Tensor]:
    """Return δ of two states, with two aggregates each: float64 [2, n] each."""
    return [
        1 - (torch.cat((aggregate(net, state), aggregate(net, looped, state.ndata["kept"])), dim=1) / ego).t()
        for state in states
    ]


def calculate_distribution(uncertainty: Tensor, settings: Settings) -> list[Tensor]:
    """Return the target's standard deviations s(v) = a h(v) + b, of edges and nodes: float64 [n] each."""
    return [part.scale * uncertainty.double() + part.offset for part in settings.parts]


def compute_p_aug(deltas: Sequence[Tensor], deviations: Sequence[Tensor], settings: Settings) -> Tensor:
    """Return log p of each state, up to a constant: float64 [2]."""
    found = []
    for delta in deltas:
        terms = [
            (-part.weight * (delta[column] - part.mean) ** 2 / (2 * deviations[column] ** 2)).sum()
            for column, part in enumerate(settings.parts)
        ]
        found.append(sum(term.item() for term in terms))
    return torch.tensor(found, dtype=torch.float64, device=deltas[0].device)


def compute_q_aug(
    current: Sequence[float], proposed: Sequence[float], edges: Edges, settings: Settings
) -> Tensor:
    """Return log q(proposal | current) and log q(current | proposal): float64 [2]."""
    pair = [
        log_proposal_density(*each, edges, settings) for each in ((proposed, current), (current, proposed))
    ]
    return torch.tensor(pair, dtype=torch.float64, device=edges.source.device)
