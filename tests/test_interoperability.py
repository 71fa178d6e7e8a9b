"""Run files in the hands of pytest-benchmark's own command and of github-action-benchmark."""

import json
import sys
from pathlib import Path

import pytest

from tests import forks
from tests.runs import SHORT, environment, gnnbench, run

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
def test_other_tools_read_files_of_shards_and_merged_ones_that_lack_what_ran_out_of_memory(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    files = ["1.json", "2.json"]
    for number, file in enumerate(files, 1):
        options = ("--gnn-layouts=sample", f"--gnn-shard={number}/2", f"--benchmark-json={file}")
        run(*options, *SHORT, cwd=tmp_path)
    merged = gnnbench("merge", *files, "-o", "merged.json", cwd=tmp_path)
    assert merged.returncode == 0, merged.stderr
    script = str(Path(sys.executable).with_name("pytest-benchmark"))
    compare = [script, "compare", "1.json", "merged.json", "--columns=median,ops,rounds"]
    compared = forks.run(compare, tmp_path, environment())
    assert compared.returncode == 0, compared.stderr
    assert all(name.partition("::")[2] in compared.stdout for name in NAMES)
    whole = json.loads((tmp_path / "merged.json").read_text())
    assert sorted(one["fullname"] for one in whole["benchmarks"]) == NAMES
    # The fields that github-action-benchmark reads.
    for field in ("ops", "stddev", "mean", "rounds"):
        assert all(one["stats"][field] >= 0 for one in whole["benchmarks"])
    # What ran out of memory is kept where only we look.
    (incomplete,) = whole["gnnbench"]["incomplete"]
    assert incomplete["fullname"] == "test_suite.py::test_too_large"
