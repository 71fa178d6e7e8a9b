"""Trained node embeddings with a sparse gradient, such as those of Node2Vec.

The gradient has a row for each looked-up node, and PyTorch adds the gradients of the two lookups. This
addition once took 692 ms instead of 42 (pytorch#36120).
"""

import pytest


@pytest.mark.operations("embedding_sparse_gradient")  # suite/operations/layers.py
def test_embedding(case, kernel, measure):
    """The product of the embeddings of both ends of each edge, as in a link-prediction loss."""
    measure(kernel.run, kernel.build(case), case.features())
