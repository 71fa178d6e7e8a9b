"""Loaders that read 128 molecules for each step of training from a file of SQLite, with two workers or none.

Data sets that do not fit into memory are read so. Each batch is a query, and each graph is made of bytes. An
epoch of it once left about 300 MB behind: pyg#10356.
"""

import pytest


@pytest.mark.whole_call("a loader's batches may come from worker processes")
@pytest.mark.operations("disk_loader_0_workers", "disk_loader_2_workers")
def test_batches(case, measure):
    """Eight batches of a loader that runs."""
    from gnnbench.suite.operations.graph_loader import loading_from_disk, result, take

    with loading_from_disk(case) as running:
        measure(take, running, result=result)
