"""Plain PyTorch: sparse CSR matrices with targets as rows."""

from functools import partial

import torch
from torch import Tensor, nn

from ..case import Case
from ..operation import Kernel

TRANSPOSED_WEIGHT = False
MODEL_CACHED = True


class CSRConv(nn.Module):
    """The graph convolution of Kipf and Welling (ICLR 2017) on a matrix normalised beforehand."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        """Take copies of weight [in, out] and bias [out]."""
        super().__init__()
        self.weight = nn.Parameter(weight.clone())
        self.bias = nn.Parameter(bias.clone())

    def forward(self, adjacency: Tensor, x: Tensor) -> Tensor:
        """Return adjacency @ (x @ weight) + bias: [N, out]."""
        return product(adjacency, x @ self.weight) + self.bias


def layer(weight: Tensor, bias: Tensor, *, cached: bool) -> nn.Module:  # noqa: ARG001
    """Make a convolution; the normalisation is always in the matrix."""
    return CSRConv(weight, bias)


def convolution(*, cached: bool) -> Kernel:  # noqa: ARG001
    """Return how a layer is applied to the normalised matrix."""
    return Kernel(
        partial(structure, self_loops=True, normalized=True), lambda adjacency, layer, x: layer(adjacency, x)
    )


def linear_layer(weight: Tensor) -> Tensor:
    """Return weight [in, out] itself."""
    return weight


def entries(output: Tensor) -> None:
    """Return None: every operation here gives a dense tensor."""


def values(output: Tensor) -> Tensor:
    """Return the output itself."""
    return output


def edges(case: Case) -> Tensor:
    """Return int [2, E]: sources, targets."""
    return case.edge_index()


def structure(case: Case, *, self_loops: bool = False, normalized: bool = False) -> Tensor:
    """Return the CSR matrix [N, N] with targets as rows; the arguments are those of `Case.csr`."""
    size = (case.graph.num_nodes, case.graph.num_nodes)
    arrays = case.csr(self_loops=self_loops, normalized=normalized)
    return torch.sparse_csr_tensor(*arrays, size=size, check_invariants=False)


def product(adjacency: Tensor, x: Tensor) -> Tensor:
    """Return adjacency @ x the best way that PyTorch has.

    On the CPU its reducing kernel took 0.69 of the time of `@` on Cora's twin with 256 columns and 0.77 on a
    tenth of ogbn-arxiv's with 128, in turns, and it takes bfloat16. With one column it took 1.95, and on a
    GPU there is only `@`.
    """
    if x.device.type == "cpu" and x.size(1) > 1:
        return torch.sparse.mm(adjacency, x, "sum")
    return adjacency @ x
