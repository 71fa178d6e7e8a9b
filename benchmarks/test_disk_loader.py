"""Loaders that read 128 molecules for each step of training from a file of SQLite, with two workers or none.

This is how PyG reads data sets that do not fit into memory. Each batch is a query, and each graph is made
from bytes. An epoch once left about 300 MB behind: pyg#10356.
"""

import pytest


@pytest.mark.whole_call("a loader's batches may come from worker processes")
@pytest.mark.operations("disk_loader_0_workers", "disk_loader_2_workers")
def test_batches(case, measure):
    """Eight batches of a loader that runs."""
    from gnnbench.suite.operations.graph_loader import loading_from_disk, result, take

    with loading_from_disk(case) as running:
        measure(take, running, result=result)
