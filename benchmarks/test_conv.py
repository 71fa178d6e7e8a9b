"""One graph convolution, from hidden to hidden width.

It computes the normalisation in each call (`conv`) or beforehand (`conv_cached`); the difference is the gain
from caching on a static graph.
"""

import pytest


@pytest.mark.operations("conv", "conv_cached")  # suite/operations/layers.py
def test_conv(case, kernel, library, measure):
    width = case.spec.hidden
    weight, bias = case.weights(width, width)
    layer = library.layer(weight, bias, cached=case.spec.operation == "conv_cached")
    layer.requires_grad_(case.requires_grad)
    measure(kernel.run, kernel.build(case), layer, case.features())
