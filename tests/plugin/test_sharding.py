"""Shards of suites in pytest, a stranger's and our own."""

import json

import pytest

from gnnbench.shard import Shard
from tests.suite import SHORT, SMALL, run, run_kernels

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


def names(path):
    return [entry["fullname"] for entry in json.loads(path.read_text())["benchmarks"]]


def test_all_shards_are_the_whole_and_each_file_says_which_it_is(folder):
    for number in (1, 2, 3):
        file = f"{number}.json"
        result = run("--gnn-shard", f"{number}/3", "--benchmark-json", file, *SHORT, cwd=folder)
        assert result.returncode == 0, result.stdout
        assert f"gnnbench: shard {number}/3: {len(PARTS[number - 1])} of 8 tests" in result.stdout
        assert json.loads((folder / file).read_text())["gnnbench"]["shard"] == f"{number}/3"
        assert names(folder / file) == PARTS[number - 1]


def test_it_keeps_to_what_is_selected_besides_and_an_empty_one_is_no_failure(folder):
    name = NAMES[0]
    number = next(number for number in (1, 2, 3) if Shard(number, 3).has(name))
    other = number % 3 + 1
    kept = run("--gnn-shard", f"{number}/3", "-k", "test_sum and 0", *SHORT, cwd=folder)
    assert "1 passed" in kept.stdout
    for more in ((), ("-n", "1")):
        file = f"empty{len(more)}.json"
        empty = run(
            "--gnn-shard", f"{other}/3", "-k", "test_sum and 0", "--benchmark-json", file, *more, cwd=folder
        )
        assert empty.returncode == 0, empty.stdout + empty.stderr
        assert more or names(folder / file) == []
    nothing = run("--gnn-shard", "1/3", "-k", "nothing_of_that_name", cwd=folder)
    assert nothing.returncode == 5, "nothing was left out that would have been there"


def test_it_works_with_processes_in_parallel(folder):
    result = run("--gnn-shard", "2/3", "-n", "2", "-v", cwd=folder)
    assert result.returncode == 0
    assert f"{len(PARTS[1])} passed" in result.stdout
    assert all(name in result.stdout for name in PARTS[1])


@pytest.mark.parametrize("text", ["4/3", "one", ""])
def test_a_wrong_shard_is_one_line(folder, text):
    result = run(f"--gnn-shard={text}", cwd=folder)
    assert result.returncode == 4
    assert f"gnnbench: shard '{text}' must be I/N" in result.stderr


def test_our_own_suite_is_counted_in_shards():
    select = (
        "benchmarks/test_spmm.py",
        "--gnn-all",
        "-k",
        "spmm_sum and torch",
        *SMALL,
        "--gnn-counters",
        "-v",
    )
    whole = run_kernels(*select)
    parts = [run_kernels(*select, "--gnn-shard", f"{number}/2") for number in (1, 2)]
    found = [
        {line.split(" ")[0] for line in result.stdout.splitlines() if " PASSED" in line}
        for result in (whole, *parts)
    ]
    assert found[0]
    assert found[1] | found[2] == found[0]
    assert not found[1] & found[2]
