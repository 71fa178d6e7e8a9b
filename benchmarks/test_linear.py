"""The dense part of the first layer: features times weights.

Dense matrix products took about 40 % of GPU time on Cora with both PyG and DGL, which limits what a faster
sparse kernel can gain. As in training, the features need no gradient.
"""

import pytest


@pytest.mark.operations("linear")
def test_linear(case, kernel, weights, measure):
    from gnnbench.suite.operations.layers import linear_weight

    weight = linear_weight(case, weights[0][0])
    measure(kernel.run, kernel.build(case), weight, case.node_features())
