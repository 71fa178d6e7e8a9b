"""One graph convolution, from hidden to hidden width: what a user's model calls.

With the normalisation computed in each call, and with it cached or baked into the matrix: the difference is
what caching is worth on a graph that does not change.
"""

import pytest


@pytest.mark.operations("conv", "conv_cached")
def test_conv(case, kernel, library, measure):
    width = case.spec.hidden
    weight, bias = case.weights(width, width)
    layer = library.layer(weight, bias, cached=case.spec.operation == "conv_cached")
    layer.requires_grad_(case.requires_grad)
    measure(kernel.run, kernel.build(case), layer, case.features())
