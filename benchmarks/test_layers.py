"""One layer of GraphSAGE and one of GIN, whose input and output have the hidden width.

GraphSAGE is common in mini-batch training, and GIN in graph classification. Neither layer normalises by
degree: the time consists of the mean or sum over neighbours, the dense products, and the layer's Python code.
`spmm_mean` and `spmm_sum` time the reduction alone.
"""

import pytest


@pytest.mark.operations("sage_conv")
def test_sage_conv(case, kernel, measure):
    """Means over neighbours; a dense product of the means, and one of the node's own features."""
    from gnnbench.suite.operations import layers

    measure(kernel.run, kernel.build(case), layers.sage_layer(case), case.features())


@pytest.mark.operations("gin_conv")
def test_gin_conv(case, kernel, measure):
    """Sums over neighbours, then a network of two linear layers with ReLU between them."""
    from gnnbench.suite.operations import layers

    measure(kernel.run, kernel.build(case), layers.gin(case), layers.whole_features(case))
