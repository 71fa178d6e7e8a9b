"""Run files of suites that write fields of their own."""

import json

from gnnbench.results import run_file
from tests.suite import SHORT

ONE = "def test_one(benchmark):\n    benchmark(sum, [1])\n"
NUMBERS = """
import pytest

@pytest.mark.parametrize("x", [float("nan"), float("inf"), 1.5])
def test_sum(benchmark, x):
    benchmark.extra_info["bounds"] = [-float("inf"), x]
    benchmark(sum, [x])
"""


def measured(pytester, suite, *options):
    """Run a suite, and return its run file."""
    pytester.makepyfile(test_suite=suite)
    saved = pytester.path / "run.json"
    options = ("--gnn-layouts", "sample", *SHORT, f"--benchmark-json={saved}", *options)
    assert pytester.inline_run(*options).ret == 0
    return saved


def test_numbers_that_json_lacks_are_texts_of_the_parameters_that_the_test_ids_have(pytester):
    saved = measured(pytester, NUMBERS)

    def refuse(name):
        raise AssertionError(name)

    entries = json.loads(saved.read_text(), parse_constant=refuse)["benchmarks"]
    assert [one["extra_info"]["bounds"] for one in entries] == [
        ["-inf", "nan"],
        ["-inf", "inf"],
        ["-inf", 1.5],
    ]
    for name, one in run_file.read(saved).benchmarks.items():
        assert one.params["x"] == name.partition("[")[2].removesuffix("]")


def test_a_saved_run_is_the_only_new_file_and_has_the_next_free_number(pytester):
    storage = pytester.path / ".benchmarks"
    for _ in range(2):
        measured(pytester, ONE, "--benchmark-save=mine")
    (folder,) = storage.iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["0001_mine.json", "0002_mine.json"]
    (folder / ".unfinished-0003").mkdir()  # by a process that saves now, or was killed
    measured(pytester, ONE, "--benchmark-save=mine")
    assert {path.name for path in folder.glob("*.json")} == {f"000{number}_mine.json" for number in (1, 2, 4)}
