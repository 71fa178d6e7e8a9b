"""Loaders of 128 nodes of a graph with several types of nodes and edges, with two workers or none.

NeighborLoader draws neighbours by relation, HGTLoader nodes by type. HGTLoader with workers was once as slow
as without them: pyg#8232, 9.57 batches a second before and 2.00 after.
"""

from functools import partial

import pytest

LOADERS = [f"{loader}_loader_{workers}_workers" for loader in ("hetero", "hgt") for workers in (0, 2)]


@pytest.mark.whole_call("a loader's batches may come from worker processes")
@pytest.mark.operations(*LOADERS)
def test_batches(case, measure):
    """Eight batches of a loader that runs."""
    from gnnbench.suite.operations.hetero_loader import check, loading
    from gnnbench.suite.operations.neighbor_loader import take

    with loading(case) as running:
        measure(take, running, result=partial(check, case))
