"""An epoch of GraphSAGE on batches of 64 nodes, whose neighbours are sampled at two hops.

This is how networks are trained on graphs that do not fit on a GPU. Sampling and copying take most of the
time, so slower samplers and loaders show here as users see them. DGL's once took twice as long (dgl#6257).
"""

from functools import partial

import pytest


@pytest.mark.in_place("a loader has its graph in a form of its own")
@pytest.mark.operations("epoch_sage_batches")
def test_sage(case, measure):
    """Without worker processes, dropout or shuffling; each epoch samples the same neighbours."""
    from gnnbench.suite.operations import epoch_sage_batches

    measure(*epoch_sage_batches.prepare(case), result=partial(epoch_sage_batches.check, case))
