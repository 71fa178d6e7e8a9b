"""Sorting an edge list in random order, by both ends or by one.

Kernels for sorted edges are faster, and most conversions of formats are a sort. A sort by one end is enough
for CSR.
"""

import pytest


@pytest.mark.operations("sort_edge_index")  # suite/operations/edge_list.py
def test_sort_edge_index(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.edge_weight(), result=kernel.result)


@pytest.mark.operations("edge_index_sort_by")  # suite/operations/edge_list.py
def test_sort_by(case, kernel, measure):
    """Without weights: the order is returned, by which the caller permutes them."""
    measure(kernel.run, kernel.build(case), result=kernel.result)
