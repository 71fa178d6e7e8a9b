"""Loaders that sample neighbours of 128 nodes at two hops and fetch features, with 0 or 2 workers.

Training waits for batches, so their rate matters: eight batches divided by the time. Another benchmark times
the first batch with the workers' start and end. Loaders have become slower before (pyg#7883, pyg#8232).
"""

from functools import partial

import pytest

LOADERS = [f"neighbor_loader{first}_{workers}_workers" for first in ("", "_first") for workers in (0, 2)]


@pytest.mark.whole_call("a loader's batches may come from worker processes")
@pytest.mark.operations(*LOADERS[:2])
def test_batches(case, measure):
    """Eight batches of a running loader. Without workers, each call samples the same nodes again."""
    from gnnbench.suite.operations.neighbor_loader import check, loading, take

    with loading(case) as running:
        measure(take, running, result=partial(check, case))


@pytest.mark.whole_call("a loader's batches may come from worker processes")
@pytest.mark.operations(*LOADERS[2:])
def test_first_batch(case, measure):
    """Start a loader, take its first batch, and end its workers."""
    from gnnbench.suite.operations.neighbor_loader import check, first, loading

    with loading(case) as running:
        measure(first, running, result=partial(check, case))
