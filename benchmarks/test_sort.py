"""Sorting a shuffled edge list, by both ends or by one.

Kernels are faster on sorted edges, and most format conversions are a sort. For CSR, one end is enough.
"""

import pytest


@pytest.mark.operations("sort_edge_index")  # suite/operations/edge_list.py
def test_sort_edge_index(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.edge_weight(), result=kernel.result)


@pytest.mark.operations("edge_index_sort_by")  # suite/operations/edge_list.py
def test_sort_by(case, kernel, measure):
    """Without weights: the libraries return a permutation, which the caller applies to the weights."""
    measure(kernel.run, kernel.build(case), result=kernel.result)
