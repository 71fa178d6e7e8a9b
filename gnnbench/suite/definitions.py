"""Building blocks of the references in `operations/`: differentiable, in float64 on the CPU.

They call no sparse kernels of PyTorch. Weighted sums are products of SciPy's sparse matrices. Everything else
gathers and scatters rows, a few columns at a time to bound the memory; only the gradient of a maximum keeps
all gathered rows.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from .graphs.graph import Graph
from .training import LEARNING_RATE

Reduce = Literal["sum", "mean", "amax"]
Reference = Callable[..., Tensor | tuple[Tensor, ...]]

CHUNK_BYTES = 256 * 2**20
"""Bytes of the rows that are gathered at a time; one column is gathered even if it takes more."""


def with_self_loops(graph: Graph, weight: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the entries with self-loops, int64 [2, E + N], and their weights; each loop has weight 1."""
    node = torch.arange(graph.num_nodes)
    entries = torch.cat((graph.edge_index, node.expand(2, -1)), dim=1)
    if weight is None:
        weight = torch.ones(graph.num_edges, dtype=torch.float64)
    return entries, torch.cat((weight, torch.ones(graph.num_nodes, dtype=torch.float64)))


def aggregate(entries: Tensor, weight: Tensor | None, x: Tensor, reduce: Reduce = "sum") -> Tensor:
    """For each target, reduce weight * x[source] over its `entries` [2, E], 0 without any: float64 [N, F].

    Without a `weight` [E], all weights are 1; "amax" takes no weights.
    """
    if reduce == "mean":
        degree = torch.bincount(entries[1], minlength=len(x)).clamp(min=1).unsqueeze(1)
        return aggregate(entries, weight, x) / degree
    if reduce == "sum":
        ones = torch.ones(entries.size(1), dtype=torch.float64) if weight is None else weight
        total: Tensor = _WeightedSum.apply(entries, ones, x)  # type: ignore[no-untyped-call]
        return total
    assert weight is None
    source, target = entries
    columns = x.split(_columns_at_once(entries), dim=1)
    return torch.cat([reduce_by_node(target, part[source], len(x), reduce) for part in columns], dim=1)


def _columns_at_once(entries: Tensor) -> int:
    """Return how many columns of messages fit into CHUNK_BYTES."""
    return max(1, CHUNK_BYTES // (8 * max(1, entries.size(1))))


class _WeightedSum(torch.autograd.Function):
    """Weighted sums over each target's sources; the backward pass sums over each source's targets."""

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
            parts = (values.split(_columns_at_once(entries), dim=1) for values in (x, gradient))
            for x_part, gradient_part in zip(*parts, strict=True):
                for_weight += (x_part[source] * gradient_part[target]).sum(dim=1)
        if ctx.needs_input_grad[2]:
            for_x = _weighted_sum(entries.flip(0), weight, gradient)
        return None, for_weight, for_x


def _weighted_sum(entries: Tensor, weight: Tensor, x: Tensor) -> Tensor:
    from scipy import sparse  # here, because sessions that check nothing import this module, too

    source, target = entries.numpy()
    matrix = sparse.csr_array((weight.detach().numpy(), (target, source)), shape=(len(x), len(x)))
    return torch.from_numpy(matrix @ x.detach().numpy())


def normalize(entries: Tensor, weight: Tensor, num_nodes: int) -> Tensor:
    """Return D^-1/2[target] * weight * D^-1/2[source], where D has the sums by target: float64 [E]."""
    source, target = entries
    scale = sums(target, weight, num_nodes).rsqrt()
    return scale[target] * weight * scale[source]


def sums(nodes: Tensor, weight: Tensor, num_nodes: int) -> Tensor:
    """Sum weights [E] or [E, H] by node; `nodes` [E] has each weight's node: float64 [N] or [N, H]."""
    return torch.zeros(num_nodes, *weight.shape[1:], dtype=torch.float64).index_add(0, nodes, weight)


def reduce_by_node(index: Tensor, messages: Tensor, num_nodes: int, reduce: Reduce = "sum") -> Tensor:
    """Reduce messages [E, F] by node, `index` [E]; 0 for a node without messages: float64 [N, F]."""
    if reduce == "amax":
        parts = []
        for columns in messages.split(_columns_at_once(index.unsqueeze(0)), dim=1):
            zeros = columns.new_zeros(num_nodes, columns.size(1))
            rows = index.unsqueeze(1).expand_as(columns)
            parts.append(zeros.scatter_reduce(0, rows, columns, reduce, include_self=False))
        return torch.cat(parts, dim=1)
    total = sums(index, messages, num_nodes)
    if reduce == "mean":
        return total / index.bincount(minlength=num_nodes).clamp(min=1).unsqueeze(1)
    return total


def matrix(graph: Graph, entries: Tensor, weight: Tensor) -> Tensor:
    """Return the COO matrix [N, N] of entries (sources and targets [2, E]); rows are targets."""
    size = (graph.num_nodes, graph.num_nodes)
    return torch.sparse_coo_tensor(entries.flip(0), weight, size).coalesce()


def train(parameters: Sequence[Tensor], losses: Sequence[Callable[[Sequence[Tensor]], Tensor]]) -> Tensor:
    """Train a copy of the parameters, with a step of Adam for each batch.

    `losses` has a function for each batch, which computes its loss from parameters. Returns each batch's loss
    before its step, and then the first batch's loss after all steps: float64 [B + 1].
    """
    current = [parameter.detach().clone().requires_grad_() for parameter in parameters]
    optimizer, values = torch.optim.Adam(current, lr=LEARNING_RATE), []
    with torch.enable_grad():
        for loss in losses:
            optimizer.zero_grad()
            values.append(loss(current))
            values[-1].backward()
            optimizer.step()
        values.append(losses[0](current))
    return torch.stack(values).detach()


def adam_step(parameter: Tensor, gradient: Tensor) -> Tensor:
    """Return the parameter after Adam's first step, whose corrected moments are g and its square."""
    return parameter - LEARNING_RATE * gradient / (gradient.abs() + 1e-8)
