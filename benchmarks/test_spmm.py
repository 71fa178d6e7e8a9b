"""Sums, means and maxima over neighbours: sparse times dense, where a GNN on a large graph spends its time.

Bound by memory: two operations per number moved. The same sum by gather and scatter moves each edge's row
three times; how much slower it is tells what fusing is worth.

The backward pass multiplies by the transposed matrix. torch_sparse and EdgeIndex keep it from the first call
on, as they do over a training; PyTorch's CSR makes it in each call. With torch_sparse installed, EdgeIndex
multiplies by its kernel.
"""

import pytest


@pytest.mark.operations("spmm_sum", "spmm_mean", "spmm_max")
def test_spmm(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.features())


@pytest.mark.operations("spmm_sum_edge_index", "gather_scatter_sum")
def test_other_sums(case, kernel, measure):
    """The same sum on PyG's EdgeIndex, which knows that it is sorted, and without any matrix."""
    measure(kernel.run, kernel.build(case), case.features())
