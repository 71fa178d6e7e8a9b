"""Pooling on a batch of 256 small graphs, as after the convolutions of a graph classifier.

Mean pooling reads the features once. Top-k and sort pooling sort the node scores of each graph, and top-k
pooling makes the CPU wait for the size of the result. `to_dense_batch` pads all graphs to one size.
"""

import pytest


@pytest.mark.operations("global_mean_pool", "sort_pool")
def test_pool(case, kernel, measure):
    from gnnbench.suite.operations import pool

    measure(kernel.run, kernel.build(case), pool.features(case))


@pytest.mark.operations("topk_pool")
def test_topk_pool(case, kernel, measure):
    """Keep half of each graph's nodes and the edges between them; differentiate the scores, too."""
    from gnnbench.suite.operations import pool

    measure(kernel.run, kernel.build(case), pool.layer(case), pool.features(case), result=kernel.result)


@pytest.mark.operations("to_dense_batch")
def test_to_dense_batch(case, kernel, measure):
    from gnnbench.suite.operations import pool

    measure(kernel.run, kernel.build(case), pool.features(case), result=kernel.result)
