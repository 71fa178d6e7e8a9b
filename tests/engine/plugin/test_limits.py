"""Pytest runs of projects with settings of their own, on the simulated machine."""

import json
import re

import pytest

from gnnbench.engine.plugin import limits
from gnnbench.engine.plugin.timing import timing_of
from gnnbench.engine.process.variants.child_plugins import Overrides
from tests.engine.plugin import recorded

SUITE = """
import pytest

@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_sum(benchmark, n):
    benchmark(sum, [n])

def test_plain():
    pass
"""
TIMES = {"test_sum[1]": 1e-3, "test_sum[2]": 8e-3, "test_sum[3]": 8e-3, "test_sum[4]": 8e-3}
RULES = """
[[rules]]
benchmarks = "*test_sum*"
max_time = "5 ms"

[[rules]]
benchmarks = "test_suite.py::test_sum[3]"
max_time = "9 ms"

[[rules]]
benchmarks = "*[4]"
ignore = "not yet tuned"
"""


def test_a_time_above_the_limit_of_the_last_rule_in_force_that_matches_fails_a_plain_run(known, monkeypatch):
    known.makepyfile(test_suite=SUITE)
    known.makefile(".toml", gnnbench=RULES)
    noise = {**recorded.QUIET, "sigma": 0.01, "process_sigma": 0}
    for name, value in recorded.machine(known.path, 3, noise, **TIMES).items():
        monkeypatch.setenv(name, value)
    result = known.runpytest_inprocess("--gnn-layouts", "sample", "--benchmark-json=run.json")
    result.assert_outcomes(failed=1, passed=4)
    said = str(result.stdout)
    lines = [line for line in result.outlines if "max_time = 5.00 ms" in line]
    assert lines[0].startswith("7.9")  # the first decile of times about 8 ms
    assert lines[0].endswith("(rule 1 of gnnbench.toml)")
    assert lines[1].startswith("FAILED test_suite.py::test_sum[2]")
    rows = re.findall(r"^ *[\d.]+ [mµ]s .* test_suite\.py::(\S+)$", said, re.MULTILINE)
    assert rows == list(TIMES), "the one that fails, too, in the order of the tests"
    assert "benchmark: 4 tests" not in said, "pytest-benchmark's table has the same rows"
    saved = json.loads((known.path / "run.json").read_text())
    assert len(saved["benchmarks"]) == 4
    settings = saved["gnnbench"]["settings"]
    assert (settings["name"], settings["defaults"]) == ("gnnbench.toml", {})
    assert settings["rules"][0]["max_time_seconds"] == 0.005


def test_the_median_of_what_pytest_benchmark_times_itself(known):
    """Its clock is the real one here, and no call takes less than a nanosecond."""
    rule = '[[rules]]\nbenchmarks = "{}"\nmax_time = "1 {}"\n'
    known.makepyfile(test_suite=SUITE)
    known.makefile(".toml", gnnbench=rule.format("*", "s") + rule.format("*[1]", "ns"))
    result = known.runpytest_inprocess("--benchmark-max-time=0.01")
    result.assert_outcomes(failed=1, passed=4)
    assert "x max_time = 1.00 ns (rule 2 of gnnbench.toml)" in str(result.stdout)


def test_a_time_that_is_hardly_above_its_limit_is_not_written_as_equal(pytester, monkeypatch):
    rule = '[[rules]]\nbenchmarks = "*"\nmax_time = "5 ms"\n'
    pytester.makefile(".toml", gnnbench=rule)
    (item,) = recorded.collected(pytester, "def test_one(benchmark):\n    benchmark(sum, [1])\n")
    monkeypatch.setattr(limits, "seconds_of", lambda _: 5.0021e-3)
    assert limits._exceeded(item) == "5.00 ms, 1.0004x max_time = 5.00 ms (rule 1 of gnnbench.toml)"


@pytest.mark.parametrize(
    ("plugins", "text", "arguments", "sampled"),
    [
        ([], 'layouts = "one"', (), False),
        ([], 'layouts = "one"', ("--gnn-layouts=sample",), True),
        ([], 'layouts = "one"', ("--gnn-layouts=off",), None),
        ([Overrides(defaults={"layouts": "one", "of_a_later_version": 3})], "not valid", (), False),
    ],
)
def test_the_command_line_is_above_all_defaults(pytester, plugins, text, arguments, sampled):
    """Those of the file, and of the process that started this one."""
    pytester.makefile(".toml", gnnbench=text)
    suite = "def test_one(benchmark):\n    benchmark(sum, [1])\n"
    (item,) = recorded.collected(pytester, suite, *arguments, plugins=plugins)
    instrument = timing_of(item.config).instrument(item)
    assert (instrument and instrument.sample_layouts) is sampled
    pytester.path.joinpath("gnnbench.toml").write_text("strict = true")
    assert pytester.parseconfigure().getoption("gnn_strict") is True
    assert pytester.parseconfigure("--no-gnn-strict").getoption("gnn_strict") is False


def test_the_table_of_pyproject_chooses_the_graphs_of_gnnbench_s_own_benchmarks(pytester):
    table = "[tool.gnnbench]\ndataset = ['rmat:5']\nhidden = 8\nplatform = 'torch'\n"
    pytester.makepyprojecttoml(f"[tool.pytest.ini_options]\n{table}")
    suite = "import pytest\n@pytest.mark.operations('spmm_sum')\ndef test_one(case):\n    pass\n"
    for option, hidden in (("-q", 8), ("--gnn-hidden=16", 16)):
        items = recorded.collected(pytester, suite, "--gnn-device=cpu", option)
        assert items
        assert all("torch" in one.nodeid and f"rmat:5-{hidden}-cpu" in one.nodeid for one in items)
