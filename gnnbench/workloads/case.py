"""One benchmark's inputs: the same numbers for every platform."""

from dataclasses import dataclass

import torch
from torch import Tensor

from .graphs.graph import Graph
from .spec import FORWARD, Spec

_PRIME = 8_388_593
"""The largest prime below 2**23: float32 tells so many numbers between -1 and 1 apart."""
_BASE = 5_180_493
"""Large and arbitrary: one column is the one before times this, and so hardly correlated with it."""


def pattern(rows: int, columns: int) -> Tensor:
    """Return float64 [rows, columns] of zero mean and unit variance, no number twice in a column.

    Entry (i, j) is (i + 1) b**(j + 1) mod p, scaled: exact integers, so the same on every machine. That no
    two rows tie (below 8.4 million of them) makes the gradient of a maximum unique, which random numbers in
    float32 do not.
    """
    multiplier = torch.tensor([pow(_BASE, exponent, _PRIME) for exponent in range(1, columns + 1)])
    integers = torch.arange(1, rows + 1).unsqueeze(1) % _PRIME * multiplier % _PRIME
    return (integers.double() / (_PRIME / 2) - 1) * 3**0.5


def gradient_for(values: Tensor, entries: Tensor | None = None) -> Tensor:
    """Return a fixed gradient for an output.

    Args:
        values: [N, F], [N] or [] of a dense output, or the weights [M] of a graph's entries.
        entries: int64 [2, M] of a graph: each weight's gradient follows from its entry, because libraries
            list them in orders of their own.
    """
    if entries is not None:
        target, source = entries
        integers = (target * _BASE + source * (_BASE // 2)) % _PRIME
        return (integers.double() / _PRIME + 0.5).to(values)
    if values.dim() == 0:
        return torch.ones_like(values)
    return pattern(len(values), values[:1].numel()).reshape(values.shape).to(values)


@dataclass(frozen=True)
class Case:
    """A spec with its graph and device: what a benchmark builds its inputs from."""

    spec: Spec
    graph: Graph

    @property
    def device(self) -> torch.device:
        """Where everything is made."""
        return torch.device(self.spec.device)

    @property
    def dtype(self) -> torch.dtype:
        """Of features and weights."""
        return _dtype(self.spec.dtype)

    @property
    def index_dtype(self) -> torch.dtype:
        """Of the graph's structure."""
        return _dtype(self.spec.index_dtype)

    @property
    def requires_grad(self) -> bool:
        """Whether the operation is timed with its gradient."""
        return self.spec.direction != FORWARD

    def tensor(self, values: Tensor) -> Tensor:
        """Bring values to this case's device and dtype, as a leaf."""
        return values.to(self.device, self.dtype, copy=True).requires_grad_(self.requires_grad)

    def features(self, width: int | None = None) -> Tensor:
        """Return an input [N, width], by default of the spec's hidden width."""
        return self.tensor(pattern(self.graph.num_nodes, width or self.spec.hidden))

    def node_features(self) -> Tensor:
        """Return the graph's own features [N, F], without a gradient, as a first layer has them."""
        return self.graph.x.to(self.device, self.dtype, copy=True)

    def weights(self, fan_in: int, fan_out: int) -> tuple[Tensor, Tensor]:
        """Return a layer's weight [in, out] and bias [out], of sizes that keep the output's variance."""
        weight = pattern(fan_in, fan_out) / fan_in**0.5
        return self.tensor(weight), self.tensor(pattern(fan_out, 1).squeeze(1))

    def edge_weight(self) -> Tensor:
        """Return positive weights [E] in the order of the graph's entries."""
        return self.tensor(pattern(self.graph.num_edges, 1).squeeze(1) / 4 + 1)

    def edge_index(self) -> Tensor:
        """Return int [2, E], sources and targets, in this case's index dtype."""
        return self.graph.edge_index.to(self.device, self.index_dtype, copy=True)

    def csr(self, *, self_loops: bool = False, normalized: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """Return row pointer [N + 1], columns and values of the matrix with targets as rows.

        Args:
            self_loops: whether to add the identity.
            normalized: whether values are those of D^-1/2 A D^-1/2 (Kipf and Welling, ICLR 2017), else 1.
        """
        source, target = self.graph.edge_index
        num_nodes = self.graph.num_nodes
        if self_loops:
            node = torch.arange(num_nodes)
            order = torch.argsort(torch.cat((target, node)) * num_nodes + torch.cat((source, node)))
            source, target = torch.cat((source, node))[order], torch.cat((target, node))[order]
        degree = torch.bincount(target, minlength=num_nodes)
        pointer = torch.cat((torch.zeros(1, dtype=torch.int64), degree.cumsum(0)))
        values = torch.ones(len(source), dtype=torch.float64)
        if normalized:
            scale = degree.double().rsqrt()
            values = scale[source] * scale[target]
        return (
            pointer.to(self.device, self.index_dtype),
            source.to(self.device, self.index_dtype, copy=True),
            values.to(self.device, self.dtype),
        )


def _dtype(name: str) -> torch.dtype:
    dtype = getattr(torch, name)
    assert isinstance(dtype, torch.dtype)
    return dtype
