"""One benchmark's inputs, with equal values on every platform."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor

from .graphs.graph import Graph
from .inputs import pattern
from .spec import AUTOCAST, FORWARD, Spec


@dataclass(frozen=True)
class Case:
    """A spec and its graph, from which a benchmark builds its inputs."""

    spec: Spec
    graph: Graph
    errors: list[float] = field(default_factory=list, compare=False)
    """For each comparison with a reference, the largest ratio of an error to the allowed error."""

    @property
    def device(self) -> torch.device:
        return torch.device(self.spec.device)

    @property
    def dtype(self) -> torch.dtype:
        return _dtype(self.spec.dtype)

    @property
    def index_dtype(self) -> torch.dtype:
        return _dtype(self.spec.index_dtype)

    def on_cpu(self) -> Self:
        """Return a copy of this case with inputs on the CPU."""
        return replace(self, spec=replace(self.spec, device="cpu"))

    def call(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Return `run`, wrapped in torch.autocast if the spec's dtype is AUTOCAST."""
        if self.spec.dtype != AUTOCAST:
            return run
        in_autocast: Callable[..., Any] = torch.autocast(self.spec.device, torch.bfloat16)(run)
        return in_autocast

    @property
    def requires_grad(self) -> bool:
        """Whether inputs need gradients: in all directions except forward."""
        return self.spec.direction != FORWARD

    def tensor(self, values: Tensor) -> Tensor:
        """Return a copy of the values with this case's device and dtype, as an autograd leaf."""
        return values.to(self.device, self.dtype, copy=True).requires_grad_(self.requires_grad)

    def features(self, width: int | None = None) -> Tensor:
        """Return features [N, width]; by default, they have the spec's hidden width."""
        return self.tensor(pattern(self.graph.num_nodes, width or self.spec.hidden, self.dtype))

    def node_features(self) -> Tensor:
        """Return the data set's features [N, F], which need no gradient: the input of a first layer."""
        return self.graph.x.to(self.device, self.dtype, copy=True)

    def weights(self, fan_in: int, fan_out: int) -> tuple[Tensor, Tensor]:
        """Return a layer's weight [in, out], scaled to keep the variance of the input, and bias [out]."""
        weight = pattern(fan_in, fan_out) / fan_in**0.5
        return self.tensor(weight), self.tensor(pattern(fan_out, 1).squeeze(1))

    def edge_weight(self) -> Tensor:
        """Return positive weights [E], in the order of the graph's edges."""
        return self.tensor(pattern(self.graph.num_edges, 1).squeeze(1) / 4 + 1)

    def edge_index(self) -> Tensor:
        """Return sources and targets [2, E] in this case's index dtype."""
        return self.graph.edge_index.to(self.device, self.index_dtype, copy=True)

    def csr(self, *, self_loops: bool = False, normalized: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """Return the adjacency matrix A, whose rows are targets: row pointer [N + 1], columns and values.

        `self_loops` adds the identity matrix. All values are 1; with `normalized`, the matrix is D^-1/2 A
        D^-1/2 (Kipf and Welling, ICLR 2017).
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
    dtype = getattr(torch, "float32" if name == AUTOCAST else name)
    assert isinstance(dtype, torch.dtype)
    return dtype
