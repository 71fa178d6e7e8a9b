from pathlib import Path

from gnnbench.settings import parse
from gnnbench.variants.collected import foreign_fixture, only_marked, unmatched

ID = "benchmarks/test_spmm.py::test_spmm[spmm_sum-cora-256-cpu]"
PATTERNS = ("*spmm*", "*no*", "benchmarks/test_no*")
SETTINGS = parse(Path("gnnbench.toml"), {"rules": [{"benchmarks": one, "effect": 0.1} for one in PATTERNS]})


def numbers(*folders):
    return [int(line.split()[1]) for line in unmatched(SETTINGS, [ID], folders)]


def test_rules_that_match_nothing_are_named():
    assert unmatched(SETTINGS, [ID], ["."])[0] == (
        "rule 2 of gnnbench.toml (*no*) matches no benchmark here: "
        "correct its pattern, unless it is for another machine"
    )
    assert numbers(".") == numbers("benchmarks") == numbers("other", "benchmarks") == [2, 3]


def test_rules_about_other_folders_are_left_out():
    assert numbers("benchmarks/small") == numbers("other") == [2]
    assert numbers() == []


SUITE = """
import pytest

@pytest.fixture
def other(benchmark):
    return benchmark

@pytest.mark.benchmark
def test_marked(): ...

@pytest.mark.codspeed_benchmark
def test_marked_otherwise(): ...

@pytest.mark.benchmark(group="a")
def test_both(other): ...

def test_neither(): ...

class TestBuiltOn:
    @pytest.fixture
    def benchmark(self, benchmark):
        return benchmark

    def test_it(self, benchmark): ...

class TestForeign:
    @pytest.fixture
    def benchmark(self):
        return lambda function: function()

    def test_it(self, benchmark): ...
"""


def test_tests_that_another_plugin_would_time_are_counted_or_named(pytester):
    items, _ = pytester.inline_genitems(pytester.makepyfile(SUITE), "-p", "no:gnnbench")
    (line,) = only_marked(items)
    assert line == "marked as benchmarks, but without the fixture `benchmark`, and so not timed: 2 tests"
    assert only_marked(items[2:]) == []
    whose = {item.nodeid.partition("::")[2]: foreign_fixture(item) for item in items}
    assert {name for name, text in whose.items() if text} == {"TestForeign::test_it"}
    file = "test_tests_that_another_plugin_would_time_are_counted_or_named.py"
    assert whose["TestForeign::test_it"] == f"its fixture `benchmark` is that of {file}"
