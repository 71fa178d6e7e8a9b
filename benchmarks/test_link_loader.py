"""Loaders for link prediction, with 0 or 2 workers: 128 edges, 128 random pairs, and neighbours.

A batch has up to 512 end nodes, whose neighbours are sampled at two hops, so it costs as much as several
batches for node classification. The loader also samples the pairs, and renumbers the distinct end nodes.
"""

from functools import partial

import pytest


@pytest.mark.whole_call("a loader's batches may come from worker processes")
@pytest.mark.operations("link_loader_0_workers", "link_loader_2_workers")
def test_batches(case, measure):
    """Eight batches of a running loader."""
    from gnnbench.suite.operations.neighbor_loader import check_links, link_loading, take

    with link_loading(case) as running:
        measure(take, running, result=partial(check_links, case))
