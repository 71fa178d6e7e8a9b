"""Relational graph convolution: a weight for each of the relations of a knowledge graph.

Most relations have few edges. A loop over relations (RGCNConv) runs many small kernels. Gathering a weight
for each edge (FastRGCNConv) takes memory for edges times weights. RelGraphConv gets edges sorted by relation,
and computes one product for each. DGL gets the divisors of means as an input; PyG counts neighbours.
"""

import pytest


@pytest.mark.operations("rgcn_conv", "rgcn_conv_fast")
def test_rgcn_conv(case, kernel, measure):
    from gnnbench.suite.operations.rgcn_conv import layer

    measure(kernel.run, kernel.build(case), layer(case), case.features())
