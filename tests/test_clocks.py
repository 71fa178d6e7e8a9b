"""Measurements under clocks that a suite has replaced."""

import json

import pytest

from tests.runs import run
from tests.sampling import sampled

FREEZES = {
    "freezegun": "with freezegun.freeze_time('2020-01-01'): yield",
    "time_machine": "with time_machine.travel(0, tick=False): yield",
    "monkeypatch": """with pytest.MonkeyPatch.context() as patch:
        for name in ("time", "monotonic", "perf_counter"):
            patch.setattr(time, name, lambda: 0.0)
            patch.setattr(time, f"{name}_ns", lambda: 0)
        patch.setattr(time, "sleep", lambda _: None)
        yield""",
}
CONFTEST = """
import time
import freezegun, pytest, time_machine

@pytest.fixture(autouse=True)
def frozen():
    {}
"""
SUITE = "def test_sum(benchmark):\n    assert benchmark(sum, range(1000)) == 499500\n"


@pytest.mark.parametrize("name", sampled(FREEZES, 1, seed=1))
def test_a_suite_that_freezes_time_is_timed(tmp_path, name):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(CONFTEST.format(FREEZES[name]))
    (tmp_path / "test_sum.py").write_text(SUITE)
    saved = tmp_path / "run.json"
    words = ("--gnn-layouts", "sample", "--gnn-precision", "0.5%", "--benchmark-max-time", "0.2")
    result = run("test_sum.py", *words, f"--benchmark-json={saved}", cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    (found,) = json.loads(saved.read_text())["benchmarks"]
    assert found["extra_info"]["gnnbench"]["measurement"]["location_ns"] > 0
