"""Embeddings of nodes as parameters, such as those of Node2Vec, whose gradient is sparse.

Each row that was looked up gets a part of the gradient, and the parts of both lookups are added up. In
PyTorch this addition once took 692 ms instead of 42 (pytorch#36120).
"""

import pytest


@pytest.mark.operations("embedding_sparse_gradient")  # suite/operations/layers.py
def test_embedding(case, kernel, measure):
    """The rows of both ends of each edge, multiplied, as a loss of link prediction does."""
    measure(kernel.run, kernel.build(case), case.features())
