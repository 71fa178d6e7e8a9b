"""The softmax of graph attention: an exponential, a sum for each node and a division for each edge.

Each forward pass of an attention layer calls it, here for 8 heads. It is memory-bound.
"""

import pytest


@pytest.mark.operations("edge_softmax")
def test_edge_softmax(case, kernel, measure):
    from gnnbench.suite.operations.edge_softmax import scores

    measure(kernel.run, kernel.build(case), scores(case))


@pytest.mark.operations("edge_softmax_ptr")
def test_edge_softmax_ptr(case, kernel, measure):
    """The softmax by row pointer, as layers on a SparseTensor call it.

    Without torch_scatter, it was slower in PyG 2.5 than in 2.4. PyG's pull request 10499 removed a
    synchronisation with the GPU from it.
    """
    from gnnbench.suite.operations.edge_softmax import scores

    measure(kernel.run, kernel.build(case), scores(case))
