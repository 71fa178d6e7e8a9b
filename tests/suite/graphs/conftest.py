import os
from pathlib import Path

import pytest


@pytest.fixture
def data_root():
    """The folder of real data sets that the variable GNNBENCH_DATA names."""
    root = os.environ.get("GNNBENCH_DATA")
    if not root:
        pytest.skip("GNNBENCH_DATA does not name the folder of real data sets")
    return Path(root)


@pytest.fixture
def listing():
    """Return a function that lists a folder: what is there, how large, and when it was written."""
    return lambda folder: sorted((p, p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*"))
