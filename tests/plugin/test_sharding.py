"""Shards of suites in pytest."""

import json

import pytest

from gnnbench.shard import Shard
from tests.suite import SHORT, run

SUITE = """
import pytest

@pytest.mark.parametrize("number", range(8))
def test_sum(benchmark, number):
    benchmark(sum, range(100))
"""
NAMES = [f"test_suite.py::test_sum[{number}]" for number in range(8)]
PARTS = [[name for name in NAMES if Shard(number, 3).has(name)] for number in (1, 2, 3)]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    return tmp_path


def saved(folder):
    return json.loads((folder / "run.json").read_text())


@pytest.mark.nightly
def test_a_shard_is_a_part_of_the_tests_and_its_file_says_which(folder):
    result = run("--gnn-shard", "1/3", "--benchmark-json=run.json", *SHORT, cwd=folder)
    assert result.returncode == 0, result.stdout
    assert f"gnnbench: shard 1/3: {len(PARTS[0])} of 8 tests" in result.stdout
    assert saved(folder)["gnnbench"]["shard"] == "1/3"
    assert [entry["fullname"] for entry in saved(folder)["benchmarks"]] == PARTS[0]
    parallel = run("--gnn-shard", "2/3", "-n", "1", "-v", cwd=folder)
    assert parallel.returncode == 0
    assert f"{len(PARTS[1])} passed" in parallel.stdout
    assert all(name in parallel.stdout for name in PARTS[1])


def test_it_keeps_to_what_is_selected_besides_and_an_empty_one_is_no_failure(folder):
    number = next(number for number in (1, 2, 3) if Shard(number, 3).has(NAMES[0]))
    select = ("-k", "test_sum and 0", "--benchmark-json=run.json", *SHORT)
    assert "1 passed" in run("--gnn-shard", f"{number}/3", *select, cwd=folder).stdout
    other = f"{number % 3 + 1}/3"
    assert run("--gnn-shard", other, *select, cwd=folder).returncode == 0
    assert saved(folder)["benchmarks"] == []
    nothing = run("--gnn-shard", "1/3", "-k", "nothing_of_that_name", cwd=folder)
    assert nothing.returncode == 5, "nothing was left out that would have been there"


def test_a_wrong_shard_is_one_line(pytester):
    for text in ("4/3", ""):
        with pytest.raises(pytest.UsageError, match=rf"gnnbench: shard '{text}' must be I/N"):
            pytester.parseconfigure(f"--gnn-shard={text}")
