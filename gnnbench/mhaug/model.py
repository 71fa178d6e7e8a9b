"""The network that is trained on augmented graphs: a GCN of two layers (Kipf and Welling, ICLR 2017).

Plain PyTorch, so that no variant of the chain is helped or held up by a library in what they all share. An
edge that was dropped has the weight 0, and the matrix of the original graph serves every state.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from gnnbench.mhaug.chain import Edges, index_dtype
from gnnbench.mhaug.settings import Settings
from gnnbench.platforms.torch import product


class Structure(NamedTuple):
    """A graph as the model multiplies by it: CSR with targets as rows, without values."""

    row_pointer: Tensor
    """int [n + 1]."""
    column: Tensor
    """int [m]."""
    reverse: Tensor
    """int64 [m]: where each entry's opposite lies; the graph is undirected."""

    def matrix(self, values: Tensor) -> Tensor:
        """Return the matrix [n, n] of values [m]."""
        size = (len(self.row_pointer) - 1,) * 2
        return torch.sparse_csr_tensor(self.row_pointer, self.column, values, size, check_invariants=False)


def structure(edges: Edges) -> Structure:
    """Make the matrix's structure."""
    degree = torch.bincount(edges.target, minlength=edges.num_nodes)
    row_pointer = torch.cat((degree.new_zeros(1), degree.cumsum(0)))
    reverse = torch.argsort(edges.source * edges.num_nodes + edges.target)
    return Structure(row_pointer.to(index_dtype(edges)), edges.source.to(index_dtype(edges)), reverse)


class _Sum(torch.autograd.Function):
    """Weighted sums over neighbours; the gradient is that of the features alone."""

    @staticmethod
    def forward(ctx: Any, structure: Structure, weight: Tensor, x: Tensor) -> Tensor:
        ctx.structure = structure
        ctx.save_for_backward(weight)
        return product(structure.matrix(weight), x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, Tensor]:
        (weight,) = ctx.saved_tensors
        reverse = ctx.structure.reverse
        return None, None, product(ctx.structure.matrix(weight[reverse]), gradient.contiguous())


class GCN(nn.Module):
    """Two convolutions, with ReLU and dropout between them, and dropout of the features before."""

    def __init__(self, num_features: int, num_classes: int, settings: Settings) -> None:
        """Draw the weights (Glorot and Bengio, AISTATS 2010: uniform) from torch's own generator."""
        super().__init__()
        widths = ((num_features, settings.hidden), (settings.hidden, num_classes))
        self.weights = nn.ParameterList(nn.init.xavier_uniform_(torch.empty(*width)) for width in widths)
        self.biases = nn.ParameterList(torch.zeros(width) for _, width in widths)
        self.dropout = settings.dropout

    def forward(
        self,
        x: Tensor,
        structure: Structure,
        weight: Tensor,
        scale: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return the logits [n, C].

        Args:
            x: features [n, F].
            structure: of the original graph.
            weight: float [m] of the entries: one that was dropped weighs 0, in sums and degrees alike.
            scale: float [n] of the nodes' features.
            generator: of the dropout, which is applied while training.
        """
        ones = torch.ones_like(x[:, :1])
        inverse_root = (product(structure.matrix(weight), ones) + 1).rsqrt()
        for layer, (linear, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = self._drop(x, generator) @ linear
            if layer == 0 and scale is not None:
                h = h * scale.unsqueeze(1)
            h = h * inverse_root
            sums: Tensor = _Sum.apply(structure, weight, h)  # type: ignore[no-untyped-call]
            x = (sums + h) * inverse_root + bias
            x = x.relu() if layer == 0 else x
        return x

    def _drop(self, x: Tensor, generator: torch.Generator | None) -> Tensor:
        """Zero entries at random, and scale up the others (Srivastava et al., JMLR 15, 2014)."""
        if not self.training or not self.dropout:
            return x
        kept = torch.rand(x.shape, generator=generator, device=x.device) >= self.dropout
        return x * kept / (1 - self.dropout)


def row_normalized(x: Tensor) -> Tensor:
    """Return features [n, F] over the sum of each row, where that is not 0."""
    total = x.sum(dim=1, keepdim=True)
    return x / torch.where(total == 0, 1, total)
