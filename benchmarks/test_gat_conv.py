"""One graph attention layer, GAT or GATv2, with 8 heads; its input and output have the hidden width.

A layer computes a matrix product, a score and its softmax for each edge and head, and a weighted sum. GATv2
computes scores from all features of both ends, so it gathers a row for each edge and needs more memory.
"""

import pytest


@pytest.mark.operations("gat_conv", "gatv2_conv")
def test_gat_conv(case, kernel, measure):
    from gnnbench.suite.operations import gat_conv

    measure(kernel.run, kernel.build(case), gat_conv.layer(case), gat_conv.features(case))
