"""DGL's message passing: the fused kernel, and the overhead of update_all in Python.

spmm_sum on platform dgl calls the same kernel directly. The difference is the overhead of DGL's frames,
scopes and scheduling, which take most of the time on small graphs.
"""

import pytest


# suite/operations/spmm.py
@pytest.mark.operations("update_all_copy_u_sum", "update_all_copy_u_mean", "update_all_copy_u_max")
def test_update_all(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.features())


# suite/operations/spmm.py
@pytest.mark.operations("update_all_u_mul_e_sum")
def test_update_all_weighted(case, kernel, measure):
    """Sums with a weight for each edge, as in attention and normalised convolutions."""
    inputs = case.features(), case.edge_weight()
    measure(kernel.run, kernel.build(case), *inputs)
