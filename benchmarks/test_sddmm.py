"""The dot product of source and target for each edge: the score of dot-product attention and link prediction.

It is the counterpart of a sum over neighbours, whose gradient by edge weights it computes. A fused kernel
reads rows and writes one number for each edge; gather and multiply writes three rows.
"""

import pytest


@pytest.mark.operations("sddmm")
def test_sddmm(case, kernel, measure):
    from gnnbench.suite.operations.spmm import both_features

    measure(kernel.run, kernel.build(case), *both_features(case))
