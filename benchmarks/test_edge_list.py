"""Preparing an edge list for training: merging duplicates, or adding the reverse of each edge.

Both operations sort the list. A data set needs them once, but pooling, rewiring and augmentation need them in
each training step.
"""

import pytest


@pytest.mark.operations("coalesce")
def test_coalesce(case, kernel, measure):
    """A list in random order, in which a third of the edges occur twice; duplicates' weights are summed."""
    measure(kernel.run, kernel.build(case), case.edge_weight(), result=kernel.result)


@pytest.mark.operations("to_undirected")
def test_to_undirected(case, kernel, measure):
    """A list with one direction of each edge; without weights, because dgl.to_bidirected drops them."""
    measure(kernel.run, kernel.build(case), result=kernel.result)
