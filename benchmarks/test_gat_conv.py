"""One graph attention layer, from hidden to hidden width in 8 heads, as users call it: GAT and GATv2.

A layer takes a matrix product, a score and its softmax for each edge and head, and a weighted sum. GATv2
makes a score of all features of both ends, so it moves a row for each edge and needs more memory.
"""

import pytest


@pytest.mark.operations("gat_conv", "gatv2_conv")
def test_gat_conv(case, kernel, measure):
    from gnnbench.suite.operations import gat_conv

    measure(kernel.run, kernel.build(case), gat_conv.layer(case), gat_conv.features(case))
