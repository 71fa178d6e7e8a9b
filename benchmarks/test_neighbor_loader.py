"""Loaders that draw neighbours of 128 nodes at two hops and fetch their features, with two workers or none.

Training waits for them, so the rate of batches matters: eight divided by the time. The first batch is timed
apart, with the start of the workers and their end. Loaders became slower more than once: pyg#7883, pyg#8232.
"""

from functools import partial

import pytest

LOADERS = [f"neighbor_loader{first}_{workers}_workers" for first in ("", "_first") for workers in (0, 2)]


@pytest.mark.whole_call("a loader's batches may come from worker processes")
@pytest.mark.operations(*LOADERS[:2])
def test_batches(case, measure):
    """Eight batches of a running loader. Without workers each call draws the same nodes again."""
    from gnnbench.suite.operations.neighbor_loader import check, loading, take

    with loading(case) as running:
        measure(take, running, result=partial(check, case))


@pytest.mark.whole_call("a loader's batches may come from worker processes")
@pytest.mark.operations(*LOADERS[2:])
def test_first_batch(case, measure):
    """From the start of a loader to its first batch, and until its workers have ended."""
    from gnnbench.suite.operations.neighbor_loader import check, first, loading

    with loading(case) as running:
        measure(first, running, result=partial(check, case))
