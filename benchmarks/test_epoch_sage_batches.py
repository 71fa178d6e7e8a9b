"""An epoch of GraphSAGE on batches of 64 nodes, for which neighbours are drawn at two hops.

Networks are trained like this on graphs that do not fit on a GPU. Drawing and copying take most of the time,
so slower samplers and loaders show here as users meet them: DGL's once took twice as long (dgl#6257).
"""

from functools import partial

import pytest


@pytest.mark.in_place("a loader has its graph in a form of its own")
@pytest.mark.operations("epoch_sage_batches")
def test_sage(case, measure):
    """Without worker processes, dropout and shuffling; each epoch draws the same."""
    from gnnbench.suite.operations import epoch_sage_batches

    measure(*epoch_sage_batches.prepare(case), result=partial(epoch_sage_batches.check, case))
