"""Sums, means and maxima over neighbours, where a GNN spends most of its time on large graphs.

A sparse-dense product is memory-bound: it does two operations per number that it moves. Gather and scatter
move each edge's row three times; the difference is the gain from fusing them.

The backward pass multiplies by the transpose. torch_sparse and EdgeIndex cache it in the first call, as in
training; PyTorch's CSR computes it in each call. EdgeIndex calls torch_sparse if it is installed.
"""

import pytest


@pytest.mark.operations("spmm_sum", "spmm_mean", "spmm_max")
def test_spmm(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.features())


@pytest.mark.operations("spmm_sum_edge_index", "gather_scatter_sum")
def test_other_sums(case, kernel, measure):
    """The same sum with a sorted EdgeIndex of PyG, and by gather and scatter."""
    measure(kernel.run, kernel.build(case), case.features())
