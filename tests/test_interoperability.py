"""Run files in the hands of other tools: pytest-benchmark's own command, and github-action-benchmark.

The latter is a GitHub action and no package. What it does with a file of pytest-benchmark was read in its
source (src/extract.ts) and is done again here.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite import SHORT, environment, run

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
PLAIN = ("-k", "test_sum")


def extract_pytest_result(text):
    """Read a file as github-action-benchmark does: these fields, none of which may be missing."""
    found = []
    for bench in json.loads(text)["benchmarks"]:
        stats = bench["stats"]
        numbers = [stats[field] for field in ("ops", "stddev", "mean", "rounds")]
        assert all(isinstance(number, int | float) for number in numbers), (
            "a missing one would read `undefined`"
        )
        found.append({"name": bench["fullname"], "value": stats["ops"], "unit": "iter/sec"})
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Run files as a user has them: whole, with one that ran out of memory, of two shards, merged."""
    folder = tmp_path_factory.mktemp("interoperability")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_suite.py").write_text(SUITE)
    layouts = ("--gnn-layouts", "sample", *SHORT)
    for name, words in (
        ("whole", PLAIN),
        ("again", PLAIN),
        ("oom", ()),
        ("one", (*PLAIN, "--gnn-shard", "1/2")),
        ("two", (*PLAIN, "--gnn-shard", "2/2")),
    ):
        result = run(*layouts, *words, f"--benchmark-json={name}.json", cwd=folder)
        assert result.returncode == (1 if name == "oom" else 0), result.stdout
    result = command(folder, "gnnbench", "merge", "one.json", "two.json", "-o", "merged.json")
    assert result.returncode == 0, result.stderr
    return folder


def command(folder, name, *words):
    return subprocess.run(
        [str(Path(sys.executable).with_name(name)), *words],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def names(folder, file):
    return [entry["fullname"] for entry in json.loads((folder / file).read_text())["benchmarks"]]


@pytest.mark.parametrize("file", ["again.json", "oom.json", "one.json", "merged.json"])
def test_pytest_benchmark_s_own_command_compares_them(folder, file):
    result = command(folder, "pytest-benchmark", "compare", "whole.json", file, "--columns=median,ops,rounds")
    assert result.returncode == 0, result.stderr
    for name in names(folder, file):
        short = name.partition("::")[2]
        assert sum(short in line for line in result.stdout.splitlines()) >= 2, "of both files"


@pytest.mark.parametrize("file", ["whole.json", "oom.json", "merged.json"])
def test_github_action_benchmark_reads_them(folder, file):
    found = extract_pytest_result((folder / file).read_text())
    assert sorted(one["name"] for one in found) == [
        f"test_suite.py::test_sum[{number}]" for number in range(4)
    ]
    assert all(one["value"] > 0 for one in found)


def test_what_ran_out_of_memory_is_kept_where_only_we_look(folder):
    content = json.loads((folder / "oom.json").read_text())
    assert [one["fullname"] for one in content["gnnbench"]["incomplete"]] == ["test_suite.py::test_too_large"]
