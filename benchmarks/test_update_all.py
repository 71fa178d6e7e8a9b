"""DGL's message passing: the fused kernel and, around it, what update_all costs in Python.

Beside spmm_sum on dgl, which calls the same kernel directly, the difference is the frames, scopes and
schedule around it: on small graphs that is most of the time.
"""

import pytest


@pytest.mark.operations("update_all_copy_u_sum", "update_all_copy_u_mean", "update_all_copy_u_max")
def test_update_all(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.features())


@pytest.mark.operations("update_all_u_mul_e_sum")
def test_update_all_weighted(case, kernel, measure):
    """With a weight on each edge, as attention and normalised convolutions use it."""
    inputs = case.features(), case.edge_weight()
    measure(kernel.run, kernel.build(case), *inputs)
