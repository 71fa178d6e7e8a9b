"""The dot product of source and target for each edge: the score of dot-product attention and link prediction.

It also computes the gradient of a weighted sum over neighbours by the edge weights. A fused kernel reads two
rows and writes one number for each edge; gather and multiply write three rows.
"""

import pytest


@pytest.mark.operations("sddmm")
def test_sddmm(case, kernel, measure):
    from gnnbench.suite.operations.spmm import both_features

    measure(kernel.run, kernel.build(case), *both_features(case))
