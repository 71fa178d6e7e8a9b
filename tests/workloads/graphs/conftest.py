"""Real data sets, where they are."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def data_root() -> Path:
    """The folder of real data sets that the variable GNNBENCH_DATA names."""
    root = os.environ.get("GNNBENCH_DATA")
    if not root:
        pytest.skip("GNNBENCH_DATA does not name the folder of real data sets")
    return Path(root)


@pytest.fixture
def cora_root(data_root: Path) -> Path:
    if not (data_root / "Planetoid/Cora/raw/ind.cora.x").is_file():
        pytest.skip(f"no Planetoid/Cora under {data_root}")
    return data_root


@pytest.fixture
def condmat(data_root: Path) -> Path:
    path = data_root / "mtx/ca-CondMat.mtx"
    if not path.is_file():
        pytest.skip(f"there is no {path}")
    return path
