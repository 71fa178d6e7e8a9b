import json

import pytest

from gnnbench.errors import UsageError
from gnnbench.variants import fresh
from tests.suite import BARE, SHORT

SUITE = """
def test_good(benchmark):
    benchmark(sum, [1, 2])

def test_bad():
    assert not "really; $(echo bad)"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", f"{BARE} -p no:cacheprovider")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # as nobody's shell has it
    (tmp_path / "test_suite.py").write_text(SUITE)
    return tmp_path


def test_each_leaves_its_lines_and_a_run_file_and_has_noise_of_its_own(folder, monkeypatch):
    (folder / "truth.json").write_text('{"benchmarks": {"test_good": 1e-3}}')
    monkeypatch.setenv("GNNBENCH_FAKE_CLOCK", f"5:{folder / 'truth.json'}")
    found, lines = [], []
    for number in (1, 2):
        output = folder / f"{number}.json"
        fresh.run(["-k", "good", "--gnn-layouts=sample", *SHORT], output, folder, number, lines.append)
        (benchmark,) = json.loads(output.read_text())["benchmarks"]
        assert benchmark["name"] == "test_good"
        found.append(benchmark["extra_info"]["gnnbench"]["measurement"]["location_ns"])
    assert found[0] != found[1]
    assert sum("1 passed" in line for line in lines) == 2


def test_one_that_fails_says_so_with_the_end_of_what_it_printed(folder):
    with pytest.raises(UsageError, match="process 3 failed: pytest ended with 1") as caught:
        fresh.run(["-k", "bad"], folder / "out.json", folder, 3, lambda _: None)
    assert "$(echo bad)" in str(caught.value)


def test_one_that_takes_too_long_is_stopped_with_what_it_printed(folder):
    (folder / "test_suite.py").write_text("import time\ndef test_long(benchmark):\n    time.sleep(600)\n")
    with pytest.raises(fresh.LateError, match="process 1 was stopped after 8 s") as caught:
        fresh.run([], folder / "out.json", folder, 1, lambda _: None, timeout_seconds=8.0)
    assert "test_suite.py" in str(caught.value)


def test_one_that_times_nothing_says_so(folder):
    with pytest.raises(UsageError, match="process 1 timed nothing"):
        fresh.run(["--benchmark-disable", "-k", "good"], folder / "out.json", folder, 1, lambda _: None)
