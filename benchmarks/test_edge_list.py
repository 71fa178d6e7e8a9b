"""Edge lists made ready for training: duplicates are merged, or the reverse of each edge is added.

Both sort the list. Data sets are prepared with them once, but pooling, rewiring and augmentation call them in
each step.
"""

import pytest


@pytest.mark.operations("coalesce")
def test_coalesce(case, kernel, measure):
    """A list in random order, a third of whose edges occur twice; their weights are summed."""
    measure(kernel.run, kernel.build(case), case.edge_weight(), result=kernel.result)


@pytest.mark.operations("to_undirected")
def test_to_undirected(case, kernel, measure):
    """A list with one direction of each edge; without weights, because DGL does not carry them."""
    measure(kernel.run, kernel.build(case), result=kernel.result)
