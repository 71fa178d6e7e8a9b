import os
import re
from pathlib import Path

import pytest

from gnnbench.engine.ground.packages import missing
from gnnbench.suite.platforms import PLATFORMS
from tests import forks
from tests.suite import ROOT, SHORT, SMALL, environment, run_kernels

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


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("variant", "count"), [("published", 3), ("profiled", 3), ("optimised", 8), ("compiled", 3)]
)
def test_each_variant_of_mh_aug_is_checked_and_timed(variant, count):
    if missing(("dgl",)):
        pytest.skip("counts DGL's benchmarks")
    count += 2 * (variant == "optimised" and not missing(PLATFORMS["sparse"].packages))
    result = run_kernels("examples/mhaug/test_mhaug.py", *SMALL, *SHORT, MHAUG_VARIANT=variant)
    assert result.returncode == 0, result.stdout
    assert f"{count} benchmarks checked against the reference, {count} timed" in result.stdout
