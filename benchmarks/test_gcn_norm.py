"""The symmetric normalisation of a graph convolution: degrees, a power, and one product per edge.

Layers without a cache compute it in every forward pass. On SparseTensor it rebuilds the matrix, which has
caused host-device synchronisations before.
"""

import pytest


@pytest.mark.operations("gcn_norm")
def test_gcn_norm(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.edge_weight())


@pytest.mark.operations("edge_weight_norm")
def test_edge_weight_norm(case, kernel, measure):
    """DGL's counterpart, which divides by the sums at both ends."""
    measure(kernel.run, kernel.build(case), case.edge_weight())


@pytest.mark.operations("degree_norm")
def test_degree_norm(case, kernel, measure):
    """DGL's GraphConv scales nodes instead: it computes degrees and a power in every forward pass."""
    measure(kernel.run, kernel.build(case), case.features(1))
