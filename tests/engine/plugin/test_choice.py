import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from gnnbench.suite.operations import OPERATIONS

SUITE = """
import pytest

@pytest.mark.operations("spmm_sum", "spmm_mean")
def test_ours(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.features())

@pytest.mark.operations("mine", directions=["forward", "forward_backward"])
def test_mine(case):
    pass

def test_plain():
    pass
"""
CORA, ARXIV = "cora:synthetic", "ogbn-arxiv:synthetic@0.1"
WAYS = ("forward", "forward_backward")
MINE = {f"mine-{way}-{graph}" for way in WAYS for graph in (CORA, ARXIV)}
DEFAULT = {f"spmm_sum-forward_backward-{CORA}", f"spmm_sum-forward_backward-{ARXIV}"}
NARROWED = DEFAULT | {f"spmm_mean-forward_backward-{CORA}"}
ALL = {
    f"{name}-{way}-{graph}" for name in ("spmm_sum", "spmm_mean") for way in WAYS for graph in (CORA, ARXIV)
}
OURS = "test_suite.py::test_ours"


class Suite:
    def __init__(self, pytester):
        self._pytester = pytester
        self.write(SUITE)

    def write(self, text):
        self._pytester.makepyfile(test_suite=text)

    def collected(self, *arguments):
        self.found = set()
        words = ("--collect-only", "--gnn-device=cpu", "--gnn-platform=torch", *arguments)
        result = self._pytester.runpytest_inprocess(*words, plugins=[self])
        self.status = result.ret
        return self.found, f"{result.stdout}\n"

    def pytest_collection_finish(self, session):
        self.found = {parts(item.nodeid) for item in session.items}


@pytest.fixture
def suite(pytester, monkeypatch):
    monkeypatch.delenv("GNNBENCH_DATA", raising=False)
    monkeypatch.setenv("GNNBENCH_CACHE", str(pytester.path))
    pytester.makeini("[pytest]\n")
    return Suite(pytester)


def parts(nodeid):
    """Return operation, direction and graph of a test id; the name of a test that has none."""
    found = re.search(r"\[(\w+)-(\w+)-torch-float32-int64-(.+)-\d+-cpu\]", nodeid)
    return "-".join(found.groups()) if found else nodeid.partition("::")[2]


RUN, RUNS_ALL = "benchmarks run, the default ones", "--gnn-all runs all"
MORE = "a file's name or -k runs some of the others"
MEAN = "spmm_mean-forward-torch and cora"
TIMED = ("--gnn-all", "--benchmark-max-time", "9.6")


@pytest.mark.parametrize(
    ("arguments", "expected", "line"),
    [
        ((), {*DEFAULT, *MINE, "test_plain"}, f"6 of 12 {RUN}; {MORE}, {RUNS_ALL}"),
        (("test_suite.py",), {*NARROWED, *MINE, "test_plain"}, f"7 of 12 {RUN}; {RUNS_ALL}"),
        (("-k", "test_ours"), NARROWED, f"3 of 8 {RUN}; {RUNS_ALL}"),
        ((OURS,), ALL, ""),
        (("-m", "operations"), ALL | MINE, ""),
        (("-m", "default"), DEFAULT | MINE, ""),
        (("-m", "core"), DEFAULT, ""),
        (TIMED, {*ALL, *MINE, "test_plain"}, "12 benchmarks take about 2 min"),
        ((*TIMED, "-k", MEAN), {f"spmm_mean-forward-{CORA}"}, "1 benchmark takes about 10 s"),
        ((*TIMED, "--gnn-counters"), {*ALL, *MINE, "test_plain"}, ""),
        ((*TIMED, "--benchmark-disable"), {*ALL, *MINE, "test_plain"}, ""),
        (("-k", "test_ours and not backward"), set(), f"0 of 4 {RUN}; {RUNS_ALL}"),
        (
            ("--gnn-dataset", "rmat:5"),
            {"spmm_sum-forward_backward-rmat:5", *(f"mine-{way}-rmat:5" for way in WAYS), "test_plain"},
            f"3 of 6 {RUN}; {MORE}, {RUNS_ALL}",
        ),
    ],
)
def test_default_ones_run_unless_others_are_selected_and_a_line_says_so(suite, arguments, expected, line):
    """They are core operations in one direction, those of named files, and all that is not gnnbench's."""
    found, out = suite.collected(*arguments)
    assert found == expected
    assert (suite.status == pytest.ExitCode.NO_TESTS_COLLECTED) == (not expected)
    said = re.findall(r"^gnnbench: (\d+ .*)$", out, re.MULTILINE)
    assert said == ([line] if line else [])


def test_shards_divide_what_is_selected_besides_and_an_empty_one_is_no_failure(suite):
    (first, _), (second, _) = (suite.collected("--gnn-shard", f"{number}/2") for number in (1, 2))
    assert first | second == {*DEFAULT, *MINE, "test_plain"}
    assert not first & second
    assert suite.status == pytest.ExitCode.OK
    sizes = [len(suite.collected("--gnn-shard", f"{number}/3", "-k", "plain")[0]) for number in (1, 2, 3)]
    assert sorted(sizes) == [0, 0, 1]
    suite.collected("--gnn-shard", f"{sizes.index(0) + 1}/3", "-k", "plain")
    assert suite.status == pytest.ExitCode.OK
    suite.collected("--gnn-shard", "1/3", "-k", "nothing_of_that_name")
    assert suite.status == pytest.ExitCode.NO_TESTS_COLLECTED, "no other shard has a test, either"
    for text in ("4/3", ""):
        suite.collected(f"--gnn-shard={text}")
        assert suite.status == pytest.ExitCode.USAGE_ERROR


def test_with_xdist_an_empty_shard_is_no_failure_either(pytester):
    main = pytester.parseconfigure("--gnn-device=cpu", "--gnn-shard=1/2", "-n", "1")
    session = SimpleNamespace(config=main, exitstatus=pytest.ExitCode.NO_TESTS_COLLECTED)
    main.pluginmanager.get_plugin("gnnbench-selection").pytest_sessionfinish(session)
    assert session.exitstatus == pytest.ExitCode.OK


def test_an_operation_has_its_own_graphs_unless_others_are_named(suite, monkeypatch):
    own = replace(OPERATIONS["spmm_mean"], graphs=("rmat:6", "rmat:7"))
    monkeypatch.setitem(OPERATIONS, "spmm_mean", own)
    mean = SUITE.replace('"spmm_sum", "spmm_mean"', '"spmm_mean"')
    suite.write(mean)
    assert suite.collected("-k", "test_ours")[0] == {"spmm_mean-forward_backward-rmat:6"}
    assert suite.collected("-k", "mine")[0] == MINE
    every, _ = suite.collected("-k", "test_ours", "--gnn-all")
    assert {name.rpartition("-")[2] for name in every} == {"rmat:6", "rmat:7"}
    assert suite.collected("--gnn-dataset", "rmat:5", OURS)[0] == {
        "spmm_mean-forward-rmat:5",
        "spmm_mean-forward_backward-rmat:5",
    }
    suite.write(mean.partition('@pytest.mark.operations("mine"')[0])
    _, out = suite.collected("test_suite.py")
    assert "gnnbench: 1 of 4 benchmarks run" in out
    assert "stand-in" not in out, "only graphs that are used are looked for"
