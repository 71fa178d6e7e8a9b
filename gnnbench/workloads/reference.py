"""What every operation must give: plain definitions in float64 on the CPU.

Each function takes the graph and the operation's tensors in float64, and is differentiable. None uses a
sparse kernel: rows are gathered and scattered, a few columns at a time so that memory stays bounded (but for
the gradient of a maximum, which keeps what was gathered).
"""

from collections.abc import Callable
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from .case import gradient_for
from .graphs.graph import Graph
from .mhaug import published, workloads
from .mhaug.chain import Draws, Edges, State, edges_of, row_scale
from .mhaug.settings import Settings
from .training import LEARNING_RATE

Reduce = Literal["sum", "mean", "amax"]
Reference = Callable[..., Tensor]

_CHUNK_BYTES = 256 * 2**20


def looped(graph: Graph, weight: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Add self-loops of weight 1.

    Returns:
        entries int64 [2, E + N], sources and targets; their weights float64 [E + N].
    """
    node = torch.arange(graph.num_nodes)
    entries = torch.cat((graph.edge_index, node.expand(2, -1)), dim=1)
    if weight is None:
        weight = torch.ones(graph.num_edges, dtype=torch.float64)
    return entries, torch.cat((weight, torch.ones(graph.num_nodes, dtype=torch.float64)))


def aggregate(entries: Tensor, weight: Tensor | None, x: Tensor, reduce: Reduce = "sum") -> Tensor:
    """Reduce over each target's entries weight * x[source]; zero where a target has none.

    Args:
        entries: int64 [2, E], sources and targets.
        weight: float64 [E], or None for ones.
        x: float64 [N, F].
        reduce: what `Tensor.scatter_reduce` calls it.

    Returns:
        float64 [N, F].
    """
    if reduce == "mean":
        degree = torch.bincount(entries[1], minlength=len(x)).clamp(min=1).unsqueeze(1)
        return aggregate(entries, weight, x) / degree
    if reduce == "sum":
        ones = torch.ones(entries.size(1), dtype=torch.float64) if weight is None else weight
        total: Tensor = _WeightedSum.apply(entries, ones, x)  # type: ignore[no-untyped-call]
        return total
    source, target = entries
    parts = []
    for columns in x.split(_width(entries), dim=1):
        messages = columns[source] if weight is None else columns[source] * weight.unsqueeze(1)
        index = target.unsqueeze(1).expand_as(messages)
        parts.append(torch.zeros_like(columns).scatter_reduce(0, index, messages, reduce, include_self=False))
    return torch.cat(parts, dim=1)


def _width(entries: Tensor) -> int:
    """Columns whose messages fit into the bytes set aside for them."""
    return max(1, _CHUNK_BYTES // (8 * max(1, entries.size(1))))


class _WeightedSum(torch.autograd.Function):
    """Sums over entries that keep no messages for the backward pass: it makes them again."""

    @staticmethod
    def forward(ctx: Any, entries: Tensor, weight: Tensor, x: Tensor) -> Tensor:
        ctx.save_for_backward(entries, weight, x)
        return _weighted_sum(entries, weight, x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        entries, weight, x = ctx.saved_tensors
        (gradient,) = gradients
        source, target = entries
        for_weight = for_x = None
        if ctx.needs_input_grad[1]:
            for_weight = torch.zeros_like(weight)
            for columns, part in zip(
                x.split(_width(entries), dim=1), gradient.split(_width(entries), dim=1), strict=True
            ):
                for_weight += (columns[source] * part[target]).sum(dim=1)
        if ctx.needs_input_grad[2]:
            for_x = _weighted_sum(entries.flip(0), weight, gradient)
        return None, for_weight, for_x


def _weighted_sum(entries: Tensor, weight: Tensor, x: Tensor) -> Tensor:
    source, target = entries
    sums = torch.zeros_like(x)
    for columns, part in zip(
        x.split(_width(entries), dim=1), sums.split(_width(entries), dim=1), strict=True
    ):
        part.index_add_(0, target, columns[source] * weight.unsqueeze(1))
    return sums


def add_self_loops(graph: Graph, weight: Tensor) -> Tensor:
    """Return the weighted graph with self-loops of weight 1: COO [target, source]."""
    return _matrix(graph, *looped(graph, weight))


def gcn_norm(graph: Graph, weight: Tensor) -> Tensor:
    """Return D^-1/2 (A + I) D^-1/2, D the sums over targets (Kipf and Welling, ICLR 2017): COO."""
    entries, weight = looped(graph, weight)
    return _matrix(graph, entries, normalized(entries, weight, graph.num_nodes))


def edge_weight_norm(graph: Graph, weight: Tensor) -> Tensor:
    """Return (A + I) divided by the roots of each target's sum and each source's sum: COO.

    That is `dgl.nn.EdgeWeightNorm("both")`; where weights differ by direction it is not gcn_norm.
    """
    entries, weight = looped(graph, weight)
    source, target = entries
    inward = torch.zeros(graph.num_nodes, dtype=torch.float64).index_add(0, target, weight)
    outward = torch.zeros(graph.num_nodes, dtype=torch.float64).index_add(0, source, weight)
    return _matrix(graph, entries, weight * inward[target].rsqrt() * outward[source].rsqrt())


def normalized(entries: Tensor, weight: Tensor, num_nodes: int) -> Tensor:
    """Return D^-1/2[target] * weight * D^-1/2[source]: float64 [E]."""
    source, target = entries
    scale = torch.zeros(num_nodes, dtype=torch.float64).index_add(0, target, weight).rsqrt()
    return scale[target] * weight * scale[source]


def degree_norm(graph: Graph, like: Tensor) -> Tensor:  # noqa: ARG001
    """Return max(degree, 1) ** -1/2 without self-loops: [N]."""
    return torch.bincount(graph.edge_index[0], minlength=graph.num_nodes).clamp(min=1).double().rsqrt()


def spmm_sum(graph: Graph, x: Tensor) -> Tensor:
    """Return the sums over neighbours: [N, F]."""
    return aggregate(graph.edge_index, None, x)


def spmm_mean(graph: Graph, x: Tensor) -> Tensor:
    """Return the means over neighbours: [N, F]."""
    return aggregate(graph.edge_index, None, x, "mean")


def spmm_max(graph: Graph, x: Tensor) -> Tensor:
    """Return the maxima over neighbours: [N, F]."""
    return aggregate(graph.edge_index, None, x, "amax")


def u_mul_e_sum(graph: Graph, x: Tensor, weight: Tensor) -> Tensor:
    """Return the sums over neighbours of features times edge weights: [N, F]."""
    return aggregate(graph.edge_index, weight, x)


def linear(graph: Graph, weight: Tensor, x: Tensor) -> Tensor:  # noqa: ARG001
    """Return x @ weight."""
    return x @ weight


def conv(graph: Graph, weight: Tensor, bias: Tensor, x: Tensor) -> Tensor:
    """Return D^-1/2 (A + I) D^-1/2 (x @ weight) + bias: [N, out]."""
    entries, ones = looped(graph)
    return aggregate(entries, normalized(entries, ones, graph.num_nodes), x @ weight) + bias


def aggregate_two_hops(graph: Graph, x: Tensor) -> Tensor:
    """Return (A + I) (A + I) x (the aggregate of MH-Aug: Park et al., NeurIPS 2021): [N, 1]."""
    entries, _ = looped(graph)
    return aggregate(entries, None, aggregate(entries, None, x))


def aggregate_one_hop(graph: Graph, x: Tensor) -> Tensor:
    """Return (A + I) x: [N, 1]."""
    return aggregate(looped(graph)[0], None, x)


def aggregate_three_hops(graph: Graph, x: Tensor) -> Tensor:
    """Return (A + I)^3 x: [N, 1]."""
    return aggregate_one_hop(graph, aggregate_two_hops(graph, x))


def aggregate_four_hops(graph: Graph, x: Tensor) -> Tensor:
    """Return (A + I)^4 x: [N, 1]."""
    return aggregate_two_hops(graph, aggregate_two_hops(graph, x))


def logits(graph: Graph, *tensors: Tensor) -> Tensor:
    """Return the GCN's output, given its weights, its biases and x: convolutions with ReLU between."""
    *parameters, x = tensors
    depth = len(parameters) // 2
    for index, (weight, bias) in enumerate(zip(parameters[:depth], parameters[depth:], strict=True)):
        x = conv(graph, weight, bias, x if index == 0 else F.relu(x))
    return x


def loss(graph: Graph, logits: Tensor) -> Tensor:
    """Return the mean loss over the training nodes: cross-entropy, binary where labels are one per task."""
    logits, labels = logits[graph.train_mask], graph.y[graph.train_mask]
    if labels.is_floating_point():
        return -torch.where(labels > 0, F.logsigmoid(logits), F.logsigmoid(-logits)).mean()
    return (logits.logsumexp(dim=1) - logits.gather(1, labels.unsqueeze(1)).squeeze(1)).mean()


def epoch_loss(graph: Graph, *tensors: Tensor) -> Tensor:
    """Return the loss of the GCN, given its weights, its biases and x."""
    return loss(graph, logits(graph, *tensors))


def adam_step(parameter: Tensor, gradient: Tensor) -> Tensor:
    """Return the parameter after the first step of Adam (Kingma and Ba, ICLR 2015).

    In the first step the corrected moments are the gradient g and its square: lr * g / (|g| + eps).
    """
    return parameter - LEARNING_RATE * gradient / (gradient.abs() + 1e-8)


def first_adam_step(graph: Graph, parameter: Tensor) -> Tensor:  # noqa: ARG001
    """Return the parameter after the first step of Adam over `gradient_for` it."""
    return adam_step(parameter, gradient_for(parameter))


def mh_aggregate(graph: Graph) -> Tensor:
    """Return AGGNet's aggregates of the chain's example, of its kept edges and of its kept nodes: [2, N]."""
    state, _, edges = _example(graph)
    ones = torch.ones(graph.num_nodes, dtype=torch.float64)
    kept = edges.source[state.kept_edges], edges.target[state.kept_edges]
    fewer_nodes = published.aggregate(edges.source, edges.target, state.kept_nodes.double())
    return torch.stack((published.aggregate(*kept, ones), fewer_nodes))


def mh_augment(graph: Graph, *_: Tensor) -> Tensor:
    """Return the first feature as the example's proposal augments it: [N, 1]."""
    _, draws, edges = _example(graph)
    state = published.augment(edges, draws, workloads.DROPPED)
    return graph.x[:, :1].double() * row_scale(state.kept_nodes).unsqueeze(1)


def mh_proposal(graph: Graph, uncertainty: Tensor) -> Tensor:
    """Return log p of the example's state and proposal, and log q forth and back: [4].

    The published form is the definition, which tests/mhaug/dense.py holds to dense matrices.
    """
    state, draws, edges = _example(graph)
    proposal = published.propose(edges, Settings(), state, draws, uncertainty)
    return torch.cat((proposal.log_target, proposal.log_density))


def mh_loss(graph: Graph, uncertainty: Tensor, *parameters: Tensor) -> Tensor:
    """Return the loss of the example's step before it, without dropout (Park et al., NeurIPS 2021): [].

    The parameters are the two weights, then the two biases.
    """
    state, draws, edges = _example(graph)
    proposed = published.propose(edges, Settings(), state, draws, uncertainty).state
    x = graph.x.double()
    x = x / x.abs().sum(dim=1, keepdim=True).clamp(min=1e-300)

    def log_probability(state: State | None) -> Tensor:
        weight = (
            torch.ones(graph.num_edges, dtype=torch.float64) if state is None else state.kept_edges.double()
        )
        entries, weight = looped(graph, weight)
        weight = normalized(entries, weight, graph.num_nodes)
        h = x if state is None else x * row_scale(state.kept_nodes).unsqueeze(1)
        h = F.relu(aggregate(entries, weight, h @ parameters[0]) + parameters[2])
        return F.log_softmax(aggregate(entries, weight, h @ parameters[1]) + parameters[3], dim=1)

    whole, current, proposal = (log_probability(each) for each in (None, state, proposed))
    supervised = -current[graph.train_mask].gather(1, graph.y[graph.train_mask].unsqueeze(1)).mean()
    divergence = (current.exp() * (current - proposal)).sum(dim=1).mean()
    entropy = -(whole.exp() * whole).sum(dim=1).mean()
    weights = Settings()
    return supervised + weights.divergence_weight * divergence + weights.entropy_weight * entropy


def _example(graph: Graph) -> tuple[State, Draws, Edges]:
    edges = edges_of(graph.edge_index, graph.num_nodes)
    return *workloads.example(edges), edges


def _matrix(graph: Graph, entries: Tensor, weight: Tensor) -> Tensor:
    size = (graph.num_nodes, graph.num_nodes)
    return torch.sparse_coo_tensor(entries.flip(0), weight, size).coalesce()
