"""Loaders on a graph with several types of nodes and edges: batches of 128 nodes, 0 or 2 workers.

NeighborLoader samples neighbours per relation, HGTLoader samples nodes per type. With workers, HGTLoader once
fell from 9.57 to 2.00 batches per second, as slow as without workers (pyg#8232).
"""

from functools import partial

import pytest

LOADERS = [f"{loader}_loader_{workers}_workers" for loader in ("hetero", "hgt") for workers in (0, 2)]


@pytest.mark.whole_call("a loader's batches may come from worker processes")
@pytest.mark.operations(*LOADERS)
def test_batches(case, measure):
    """Eight batches of a running loader."""
    from gnnbench.suite.operations.hetero_loader import check, loading
    from gnnbench.suite.operations.neighbor_loader import take

    with loading(case) as running:
        measure(take, running, result=partial(check, case))
