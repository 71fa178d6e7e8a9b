"""The dense part of the first layer, features times weights, alone.

Dense matrix products took about 40 % of GPU time on Cora on both PyG and DGL: what a sparse kernel can win
is bounded by what this costs. The features need no gradient, as in training.
"""

import pytest


@pytest.mark.operations("linear")
def test_linear(case, kernel, library, weights, measure):
    weight = library.linear_layer(case.tensor(weights[0][0])).requires_grad_(case.requires_grad)
    measure(kernel.run, kernel.build(case), weight, case.node_features())
