"""Loaders that read 128 molecules per training step from an SQLite file, with 0 or 2 workers.

This is how PyG reads data sets that do not fit into memory. Each batch is one query, and each graph is
deserialised. An epoch once leaked about 300 MB (pyg#10356).
"""

import pytest


@pytest.mark.whole_call("a loader's batches may come from worker processes")
@pytest.mark.operations("disk_loader_0_workers", "disk_loader_2_workers")
def test_batches(case, measure):
    """Eight batches of a running loader."""
    from gnnbench.suite.operations.graph_loader import loading_from_disk, result, take

    with loading_from_disk(case) as running:
        measure(take, running, result=result)
