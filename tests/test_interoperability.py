"""Run files in the hands of pytest-benchmark's own command and of github-action-benchmark."""

import json
import sys
from pathlib import Path

import pytest

from tests import forks
from tests.suite import SHORT, environment, gnnbench, run

SUITE = """
import pytest

@pytest.mark.parametrize("number", range(4))
def test_sum(benchmark, number):
    benchmark(sum, range(100))

def test_too_large(benchmark):
    def fill():
        raise MemoryError
    benchmark(fill)
"""
NAMES = [f"test_suite.py::test_sum[{number}]" for number in range(4)]


@pytest.mark.nightly
def test_other_tools_read_files_that_are_whole_lack_what_ran_out_of_memory_or_were_merged(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    for name, words in (
        ("oom", ()),
        ("one", ("-k", "test_sum", "--gnn-shard", "1/2")),
        ("two", ("-k", "test_sum", "--gnn-shard", "2/2")),
    ):
        options = ("--gnn-layouts", "sample", *SHORT, f"--benchmark-json={name}.json")
        result = run(*options, *words, cwd=tmp_path)
        assert result.returncode == (1 if name == "oom" else 0), result.stdout
    result = gnnbench("merge", "one.json", "two.json", "-o", "merged.json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr

    files = ["oom.json", "one.json", "merged.json"]
    script = str(Path(sys.executable).with_name("pytest-benchmark"))
    compare = [script, "compare", *files, "--columns=median,ops,rounds"]
    result = forks.run(compare, tmp_path, environment())
    assert result.returncode == 0, result.stderr
    contents = [json.loads((tmp_path / file).read_text()) for file in files]
    shard = [one["fullname"] for one in contents[1]["benchmarks"]]
    for name in NAMES:
        lines = [line for line in result.stdout.splitlines() if name.partition("::")[2] in line]
        assert len(lines) >= (3 if name in shard else 2), "of each file that has it"
    for content in (contents[0], contents[2]):
        assert sorted(one["fullname"] for one in content["benchmarks"]) == NAMES
        # The fields that github-action-benchmark reads.
        for field in ("ops", "stddev", "mean", "rounds"):
            assert all(one["stats"][field] >= 0 for one in content["benchmarks"])
    # What ran out of memory is kept where only we look.
    incomplete = contents[0]["gnnbench"]["incomplete"]
    assert [one["fullname"] for one in incomplete] == ["test_suite.py::test_too_large"]
