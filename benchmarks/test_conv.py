"""One graph convolution, whose input and output have the hidden width.

`conv` normalises the graph in each call, `conv_cached` beforehand: the difference is the gain from caching.
"""

import pytest


@pytest.mark.operations("conv", "conv_cached")  # suite/operations/layers.py
def test_conv(case, kernel, library, measure):
    width = case.spec.hidden
    weight, bias = case.weights(width, width)
    layer = library.layer(weight, bias, cached=case.spec.operation == "conv_cached")
    layer.requires_grad_(case.requires_grad)
    measure(kernel.run, kernel.build(case), layer, case.features())
