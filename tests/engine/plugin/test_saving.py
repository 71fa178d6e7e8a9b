"""Run files of suites that write fields of their own, or time two calls in one test."""

import json

import pytest

from gnnbench.engine.store import run_file
from gnnbench.engine.store.parts import FORMAT_VERSION
from tests.runs import SHORT

NUMBERS = """
import pytest

@pytest.mark.parametrize("x", [float("nan"), float("inf"), 1.5])
def test_sum(benchmark, x):
    benchmark.extra_info["bounds"] = [-float("inf"), x]
    benchmark(sum, [x])
"""

WRITERS = """
from pytest_benchmark.plugin import benchmark as other

def test_before(benchmark):
    benchmark.extra_info["gnnbench"] = "mine"
    benchmark(sum, [1])

def test_alone(benchmark):
    benchmark(sum, [1])

def test_version(benchmark):
    benchmark.extra_info["gnnbench"] = {"version": 7, "mine": 1}
    benchmark(sum, [1])

def test_pedantic(benchmark):
    benchmark.extra_info.update(gnnbench=None, mine=1)
    benchmark.pedantic(sum, ([1],), rounds=3)

def test_two(benchmark, other):
    benchmark(sum, [1])
    other(sum, range(10_000))
"""
MACHINE = """
def pytest_benchmark_generate_machine_info(config):
    return {"cpu": "mine", "system": 3}

def pytest_benchmark_generate_commit_info(config):
    return "mine"
"""


def measured(pytester, suite, *options):
    pytester.makepyfile(test_suite=suite)
    saved = pytester.path / "run.json"
    options = ("--gnn-layouts", "sample", *SHORT, f"--benchmark-json={saved}", *options)
    result = pytester.runpytest_inprocess(*options)
    assert result.ret == 0
    return saved, str(result.stdout)


def test_numbers_that_json_lacks_are_texts_of_the_parameters_that_the_test_ids_have(known):
    saved, _ = measured(known, NUMBERS)
    entries = json.loads(saved.read_text(), parse_constant=pytest.fail)["benchmarks"]
    assert [one["extra_info"]["bounds"][1] for one in entries] == ["nan", "inf", 1.5]
    assert {one["extra_info"]["bounds"][0] for one in entries} == {"-inf"}
    for name, one in run_file.read(saved).benchmarks.items():
        assert one.params["x"] == name.partition("[")[2].removesuffix("]")


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_timed(known):
    known.makepyfile(test_suite="def test_one(benchmark):\n    benchmark(sum, [1])\n")
    result = known.runpytest_inprocess("--gnn-layouts=sample", "--benchmark-json=/proc/run.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "/proc/run.json cannot be written" in f"{result.stdout}{result.stderr}"


def test_what_a_test_writes_costs_no_measurement_and_of_two_calls_the_first_is_used(pytester):
    pytester.makeconftest(MACHINE)
    saved, said = measured(pytester, WRITERS)
    run = run_file.read(saved)
    assert len(run.benchmarks) == 5
    for entry in json.loads(saved.read_text())["benchmarks"]:
        ours = entry["extra_info"]["gnnbench"]
        assert ours["version"] == FORMAT_VERSION
        assert "measurement" in ours
        assert "definition_hash" in ours
    assert "give each benchmark a test of its own: test_suite.py::test_two" in said
    two, one = (run.benchmarks[f"test_suite.py::test_{name}"].processes[0] for name in ("two", "alone"))
    assert abs(two.log - one.log) < 2, "the second call takes hundreds of times as long"
