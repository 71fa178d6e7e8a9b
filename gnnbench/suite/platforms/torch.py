"""Plain PyTorch on sparse CSR matrices; rows are targets."""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ..case import Case


class CSRConv(nn.Module):
    """The graph convolution of Kipf and Welling (ICLR 2017) on a normalised matrix."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        """Take copies of weight [in, out] and bias [out]."""
        super().__init__()
        self.weight = nn.Parameter(weight.clone())
        self.bias = nn.Parameter(bias.clone())

    def forward(self, adjacency: Tensor, x: Tensor) -> Tensor:
        """Return adjacency @ (x @ weight) + bias: [N, out]."""
        return product(adjacency, x @ self.weight) + self.bias


def layer(weight: Tensor, bias: Tensor, *, cached: bool = False) -> nn.Module:  # noqa: ARG001
    """Make a convolution; it takes a normalised matrix, whether `cached` or not."""
    return CSRConv(weight, bias)


def apply(graph: Any, layer: nn.Module, x: Tensor) -> Tensor:
    """Apply a layer to a matrix or a graph."""
    return layer(graph, x)


def values(output: Tensor) -> Tensor:
    """Return a dense output, or the values of a COO matrix."""
    return output.coalesce().values() if output.is_sparse else output


def edges(case: Case) -> Tensor:
    """Return sources and targets: int [2, E]."""
    return case.edge_index()


def structure(case: Case, *, self_loops: bool = False, normalized: bool = False) -> Tensor:
    """Return the CSR matrix [N, N]; rows are targets, and the options are those of `Case.csr`."""
    size = (case.graph.num_nodes, case.graph.num_nodes)
    arrays = case.csr(self_loops=self_loops, normalized=normalized)
    return torch.sparse_csr_tensor(*arrays, size=size, check_invariants=False)


looped_structure = partial(structure, self_loops=True)
layer_graph = partial(structure, self_loops=True, normalized=True)


def product(adjacency: Tensor, x: Tensor) -> Tensor:
    """Return adjacency @ x, computed by PyTorch's fastest kernel.

    On the CPU, torch.sparse.mm with "sum" took 0.69 of the time of `@` on Cora's stand-in with 256 columns,
    and 0.77 on a tenth of ogbn-arxiv's with 128; it also supports bfloat16. With one column it took 1.95
    times as long as `@`. On a GPU only `@` works.
    """
    if x.device.type == "cpu" and x.size(1) > 1:
        return torch.sparse.mm(adjacency, x, "sum")
    return adjacency @ x
