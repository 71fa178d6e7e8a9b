import os
import re
from pathlib import Path

import pytest

from tests import forks
from tests.runs import ROOT, SHORT, SMALL, environment, run_kernels

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.nightly
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_learns(example, tmp_path):
    data = os.environ.get("GNNBENCH_DATA")
    if not data or not (Path(data) / "Planetoid/Cora/raw").is_dir():
        pytest.skip("needs real Cora: set GNNBENCH_DATA to a folder with Planetoid/Cora/raw")
    result = forks.run(
        [str(example)],
        tmp_path,
        environment(GNNBENCH_DATA=data, GNNBENCH_CACHE=str(tmp_path)),
        libraries=True,
    )
    assert result.returncode == 0, result.stderr
    accuracy = re.search(r"^cora: test accuracy (0\.\d+)$", result.stdout, re.MULTILINE)
    assert accuracy is not None
    assert float(accuracy[1]) >= 0.8


@pytest.mark.nightly
def test_two_processes_of_torchrun_train_as_one():
    result = run_kernels("examples/ddp", *SMALL, *SHORT)
    assert result.returncode == 0, result.stdout
    assert "1 benchmark checked against the reference, 1 timed" in result.stdout
