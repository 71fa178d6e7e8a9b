"""The network that is trained on augmented graphs: a GCN of two layers (Kipf and Welling, ICLR 2017).

It is plain PyTorch, so that no library affects the part that all variants share. A dropped edge has the
weight 0, so all states use the matrix of the original graph. Bag-of-words features are stored sparse (1.3 %
of Cora's are not 0): zeros are neither multiplied nor dropped.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from gnnbench.suite.operations.mh_aggregate import Edges
from gnnbench.suite.platforms.torch import product

from .settings import Settings


class Pattern(NamedTuple):
    """The structure of a sparse matrix [rows, columns] in CSR, and of its transpose."""

    row_pointer: Tensor
    """int [rows + 1]."""
    column: Tensor
    """int [entries]."""
    transposed_pointer: Tensor
    """int [columns + 1]."""
    transposed_column: Tensor
    """int [entries]."""
    order: Tensor
    """int64 [entries]: the entries' order in the transpose."""

    def matrix(self, values: Tensor) -> Tensor:
        """Return the matrix with these values, [entries]."""
        size = len(self.row_pointer) - 1, len(self.transposed_pointer) - 1
        return torch.sparse_csr_tensor(self.row_pointer, self.column, values, size, check_invariants=False)

    def transposed(self, values: Tensor) -> Tensor:
        """Return the transpose with these values, [entries] in the matrix's order."""
        size = len(self.transposed_pointer) - 1, len(self.row_pointer) - 1
        return torch.sparse_csr_tensor(
            self.transposed_pointer, self.transposed_column, values[self.order], size, check_invariants=False
        )


class Features(NamedTuple):
    """Sparse features [n, F]."""

    pattern: Pattern
    values: Tensor
    """float [entries]."""


def pattern(row: Tensor, column: Tensor, size: tuple[int, int]) -> Pattern:
    """Return the structure for int64 [entries] that are sorted by row, then column."""
    order = torch.argsort(column * size[0] + row)
    pointers = (
        torch.cat((ends.new_zeros(1), ends))
        for ends in (
            torch.bincount(part, minlength=count).cumsum(0)
            for part, count in ((row, size[0]), (column, size[1]))
        )
    )
    dtype = torch.int32 if len(row) < 2**31 else torch.int64
    rows, columns = (pointer.to(dtype) for pointer in pointers)
    return Pattern(rows, column.to(dtype), columns, row[order].to(dtype), order)


def structure(edges: Edges) -> Pattern:
    """Return the structure of a graph's matrix, targets as rows."""
    return pattern(edges.target.long(), edges.source.long(), (edges.num_nodes, edges.num_nodes))


SPARSE = 0.1
"""Fraction of non-zero features below which a sparse product is faster than a dense one."""


def features(x: Tensor) -> Tensor | Features:
    """Return x [n, F] divided by each row's sum of absolute values; sparse if most are 0."""
    total = x.abs().sum(dim=1, keepdim=True)
    normalized = x / torch.where(total == 0, 1, total)
    if x.count_nonzero() > SPARSE * x.numel():
        return normalized
    row, column = x.nonzero().unbind(dim=1)
    return Features(pattern(row, column, (x.size(0), x.size(1))), normalized[row, column])


class _Product(torch.autograd.Function):
    """A sparse matrix times a dense one; only the dense one gets a gradient."""

    @staticmethod
    def forward(ctx: Any, pattern: Pattern, values: Tensor, x: Tensor) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(values)
        return product(pattern.matrix(values), x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, Tensor]:
        (values,) = ctx.saved_tensors
        return None, None, product(ctx.pattern.transposed(values), gradient.contiguous())


class GCN(nn.Module):
    """Two convolutions with ReLU and dropout between them, and dropout of the features."""

    def __init__(self, num_features: int, num_classes: int, settings: Settings) -> None:
        """Draw the weights from torch's own generator (uniform; Glorot and Bengio, AISTATS 2010)."""
        super().__init__()
        widths = ((num_features, settings.hidden), (settings.hidden, num_classes))
        self.weights = nn.ParameterList(nn.init.xavier_uniform_(torch.empty(*width)) for width in widths)
        self.biases = nn.ParameterList(torch.zeros(width) for _, width in widths)
        self.dropout = settings.dropout

    def forward(
        self,
        x: Tensor | Features,
        structure: Pattern,
        weight: Tensor,
        scale: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return the logits [n, C].

        Args:
            x: features, see `features`.
            structure: that of the original graph.
            weight: float [m], per entry; a dropped one has weight 0, in sums and in degrees.
            scale: float [n], the factors of the nodes' features.
            generator: for dropout, which is applied in training only.
        """
        ones = weight.new_ones(len(structure.row_pointer) - 1, 1)
        inverse_root = (product(structure.matrix(weight), ones) + 1).rsqrt()
        h = self._first(x, generator)
        h = h if scale is None else h * scale.unsqueeze(1)
        h = (self._propagate(structure, weight, inverse_root, h) + self.biases[0]).relu()
        h = self._drop(h, generator) @ self.weights[1]
        return self._propagate(structure, weight, inverse_root, h) + self.biases[1]

    def _first(self, x: Tensor | Features, generator: torch.Generator | None) -> Tensor:
        if isinstance(x, Tensor):
            return self._drop(x, generator) @ self.weights[0]
        values = self._drop(x.values, generator)
        h: Tensor = _Product.apply(x.pattern, values, self.weights[0])  # type: ignore[no-untyped-call]
        return h

    @staticmethod
    def _propagate(structure: Pattern, weight: Tensor, inverse_root: Tensor, h: Tensor) -> Tensor:
        """Return D^-1/2 (A + I) D^-1/2 h."""
        h = h * inverse_root
        sums: Tensor = _Product.apply(structure, weight, h)  # type: ignore[no-untyped-call]
        return (sums + h) * inverse_root

    def _drop(self, x: Tensor, generator: torch.Generator | None) -> Tensor:
        """Set entries to zero at random, and scale the others up (Srivastava et al., JMLR 15, 2014)."""
        if not self.training or not self.dropout:
            return x
        kept = torch.rand(x.shape, generator=generator, device=x.device) >= self.dropout
        return x * kept / (1 - self.dropout)
