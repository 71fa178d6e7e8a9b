"""Loaders for link prediction, with two workers or none: 128 edges, as many drawn pairs, and neighbours.

A batch has up to 512 ends whose neighbours are drawn at two hops, so it costs as much as several batches for
classifying nodes. It also runs other code: pairs are drawn, and ends are made unique and renumbered.
"""

from functools import partial

import pytest


@pytest.mark.whole_call("a loader's batches may come from worker processes")
@pytest.mark.operations("link_loader_0_workers", "link_loader_2_workers")
def test_batches(case, measure):
    """Eight batches of a loader that runs."""
    from gnnbench.suite.operations.neighbor_loader import check_links, link_loading, take

    with link_loading(case) as running:
        measure(take, running, result=partial(check_links, case))
