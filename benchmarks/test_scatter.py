"""Sums, means, maxima and products of edge messages at each node, by an unsorted index.

Every layer that computes a message for each edge ends in such a reduction. Several messages go to one row, so
kernels sort the index or use atomic additions. Libraries have a kernel for each reduction, device and
direction, and a single kernel can become slow: on the CPU, scatter_reduce with amax took 15 to 58 times as
long in nightly builds of torch 2.13 as two weeks before (pytorch#183812).
"""

import pytest


@pytest.mark.operations("scatter_sum", "scatter_mean", "scatter_max")
def test_scatter(case, kernel, measure):
    from gnnbench.suite.inputs import pattern

    messages = case.tensor(pattern(case.graph.num_edges, case.spec.hidden))
    measure(kernel.run, kernel.build(case), messages)


@pytest.mark.operations("scatter_mul")
def test_scatter_products(case, kernel, measure):
    """Messages near 1, so that products over large neighbourhoods stay finite."""
    from gnnbench.suite.inputs import pattern

    messages = case.tensor(pattern(case.graph.num_edges, case.spec.hidden) / 64 + 1)
    measure(kernel.run, kernel.build(case), messages)
