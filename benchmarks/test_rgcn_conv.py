"""Relational graph convolution: a weight matrix for each relation (type of edge) of a knowledge graph.

Most relations have few edges. RGCNConv loops over relations, so it runs many small kernels. FastRGCNConv
gathers a weight matrix for each edge, so it needs much memory. DGL's RelGraphConv gets edges sorted by
relation, and the divisors of means, as inputs; it computes one product per relation. PyG counts neighbours.
"""

import pytest


@pytest.mark.operations("rgcn_conv", "rgcn_conv_fast")
def test_rgcn_conv(case, kernel, measure):
    from gnnbench.suite.operations.rgcn_conv import layer

    measure(kernel.run, kernel.build(case), layer(case), case.features())
