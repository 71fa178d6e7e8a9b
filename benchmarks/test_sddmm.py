"""The dot product of both ends' features for each edge, as in dot-product attention and link prediction.

It is also the gradient of a weighted sum over neighbours with respect to the edge weights. For each edge, a
fused kernel reads two rows and writes one number; gathering and multiplying write three rows.
"""

import pytest


@pytest.mark.operations("sddmm")
def test_sddmm(case, kernel, measure):
    from gnnbench.suite.operations.spmm import both_features

    measure(kernel.run, kernel.build(case), *both_features(case))
