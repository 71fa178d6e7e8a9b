"""What tests of profiles share."""

import os
from pathlib import Path

import pytest

from gnnbench.graphs.catalog import DATASETS, DatasetName
from gnnbench.graphs.load import load
from gnnbench.graphs.locate import under_data_root


@pytest.fixture(scope="session")
def cora(tmp_path_factory):
    """The real Cora."""
    root = Path(os.environ.get("GNNBENCH_DATA") or "/nonexistent")
    if under_data_root(DATASETS["cora"], root) is None:
        pytest.skip("the real Cora is needed: set GNNBENCH_DATA to a folder with Planetoid/Cora/raw")
    return load(DatasetName.parse("cora"), root, tmp_path_factory.mktemp("cache"))
