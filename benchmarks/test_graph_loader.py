"""Loaders that join 128 molecules per training step, with 0 or 2 workers.

Workers send batches to the training process through shared memory, which can cost more time than they save.
This made epochs longer more than once (pyg#3398, pyg#7883).
"""

import pytest


@pytest.mark.whole_call("a loader's batches may come from worker processes")
@pytest.mark.operations("graph_loader_0_workers", "graph_loader_2_workers")
def test_batches(case, measure):
    """Eight batches of a running loader."""
    from gnnbench.suite.operations.graph_loader import loading, result, take

    with loading(case) as running:
        measure(take, running, result=result)
