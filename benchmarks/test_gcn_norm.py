"""The symmetric normalisation of a graph convolution: degrees, their inverse roots, one product per edge.

Layers without a cache compute it in every forward pass. On a SparseTensor, the normalisation builds a new
matrix, which once caused host-device synchronisations.
"""

import pytest


@pytest.mark.operations("gcn_norm")
def test_gcn_norm(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.edge_weight())


@pytest.mark.operations("edge_weight_norm")
def test_edge_weight_norm(case, kernel, measure):
    """DGL's counterpart, which divides by the roots of the weight sums at both ends of an edge."""
    measure(kernel.run, kernel.build(case), case.edge_weight())


@pytest.mark.operations("degree_norm")
def test_degree_norm(case, kernel, measure):
    """DGL's GraphConv scales node features instead: each forward pass computes degrees ** -0.5."""
    measure(kernel.run, kernel.build(case), case.features(1))
