import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_learns(example, tmp_path):
    data = os.environ.get("GNNBENCH_DATA")
    if not data or not (Path(data) / "Planetoid/Cora/raw").is_dir():
        pytest.skip("needs real Cora: set GNNBENCH_DATA to a folder with Planetoid/Cora/raw")
    assert len(example.read_text().splitlines()) <= 40
    result = subprocess.run(
        [sys.executable, example],
        env=os.environ | {"GNNBENCH_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    accuracy = re.search(r"^cora: test accuracy (0\.\d+)$", result.stdout, re.MULTILINE)
    assert accuracy is not None
    assert float(accuracy[1]) >= 0.75
