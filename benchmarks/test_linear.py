"""The dense part of the first layer: features times weights.

Dense matrix products took about 40 % of GPU time on Cora with both PyG and DGL, which limits what a faster
sparse kernel can gain. As in training, the features need no gradient.
"""

import pytest


@pytest.mark.operations("linear")
def test_linear(case, kernel, measure):
    from gnnbench.suite.operations.layers import linear_weight

    measure(kernel.run, kernel.build(case), linear_weight(case), case.node_features())
