import json
import os

import pytest

from gnnbench.errors import UsageError
from gnnbench.variants import fresh
from tests.suite import BARE, SHORT

SUITE = """
import os

def test_good(benchmark):
    benchmark(sum, [1, 2])

def test_seed(benchmark):
    assert os.environ["GNNBENCH_FAKE_CLOCK"].startswith("8:")
    benchmark(sum, [1, 2])

def test_bad():
    assert not "really; $(echo bad)"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", f"{BARE} -p no:cacheprovider -p pytest_benchmark.plugin")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # as nobody's shell has it
    (tmp_path / "test_suite.py").write_text(SUITE)
    return tmp_path


def test_each_leaves_its_lines_and_a_run_file_and_has_a_seed_of_its_own(folder, monkeypatch):
    (folder / "truth.json").write_text('{"benchmarks": {"test_seed": 1e-3}}')
    monkeypatch.setenv("GNNBENCH_FAKE_CLOCK", f"5:{folder / 'truth.json'}")
    output, lines = folder / "3.json", []
    words = ["-p", "gnnbench", "-k", "seed", "--gnn-layouts=sample", *SHORT]
    fresh.run(words, output, folder, 3, lines.append)
    (benchmark,) = json.loads(output.read_text())["benchmarks"]
    measurement = benchmark["extra_info"]["gnnbench"]["measurement"]
    assert measurement["location_ns"] == pytest.approx(1e6, rel=0.3)
    assert sum("1 passed" in line for line in lines) == 1


def test_one_that_fails_says_so_with_the_end_of_what_it_printed(folder):
    with pytest.raises(UsageError, match="process 3 failed: pytest ended with 1") as caught:
        fresh.run(["-k", "bad"], folder / "out.json", folder, 3, lambda _: None)
    assert "$(echo bad)" in str(caught.value)


def test_one_that_takes_too_long_is_stopped_with_what_it_printed(folder, monkeypatch):
    (folder / "sitecustomize.py").write_text("import time\nprint('waits', flush=True)\ntime.sleep(600)\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
    with pytest.raises(fresh.LateError, match=r"process 1 was stopped after 1\.5 s") as caught:
        fresh.run([], folder / "out.json", folder, 1, lambda _: None, timeout_seconds=1.5)
    assert "waits" in str(caught.value)


def test_one_that_times_nothing_says_so(folder):
    with pytest.raises(UsageError, match="process 1 timed nothing"):
        fresh.run(["--benchmark-disable", "-k", "good"], folder / "out.json", folder, 1, lambda _: None)
