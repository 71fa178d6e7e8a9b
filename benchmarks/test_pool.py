"""Pooling on a batch of 256 small graphs, after the convolutions of a network that classifies graphs.

Means take one pass over the features. Top-k and sort pooling sort the scores of each graph, and top-k pooling
makes the CPU wait for the size of its result. A dense batch pads each graph to the size of the largest.
"""

import pytest


@pytest.mark.operations("global_mean_pool", "sort_pool")
def test_pool(case, kernel, measure):
    from gnnbench.suite.operations import pool

    measure(kernel.run, kernel.build(case), pool.features(case))


@pytest.mark.operations("topk_pool")
def test_topk_pool(case, kernel, measure):
    """Half of each graph's nodes and the edges between them; with the gradient of the scores."""
    from gnnbench.suite.operations import pool

    measure(kernel.run, kernel.build(case), pool.layer(case), pool.features(case), result=kernel.result)


@pytest.mark.operations("to_dense_batch")
def test_to_dense_batch(case, kernel, measure):
    from gnnbench.suite.operations import pool

    measure(kernel.run, kernel.build(case), pool.features(case), result=kernel.result)
