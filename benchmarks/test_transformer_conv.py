"""A layer with dot-product attention over neighbours, whose eight heads share the hidden width.

PyG gathers queries, keys and values, each [E, hidden], and stores the weighted values, so on Cora its peak
memory is three times that of SAGEConv. The layer also has four dense products and a softmax for each head.
"""

import pytest


@pytest.mark.operations("transformer_conv")
def test_transformer_conv(case, kernel, measure):
    from gnnbench.suite.operations import gat_conv

    if case.spec.hidden % gat_conv.HEADS:
        pytest.skip(f"{gat_conv.HEADS} heads need a hidden width that is a multiple of {gat_conv.HEADS}")
    measure(kernel.run, kernel.build(case), gat_conv.transformer_layer(case), case.features())
