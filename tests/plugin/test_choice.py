"""Which of gnnbench's own benchmarks run, in real pytest runs."""

import json
import re

import pytest

from tests.suite import SHORT, SMALL, run, run_kernels

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
TORCH = ("--gnn-platform", "torch")
CORA, ARXIV = "cora:synthetic", "ogbn-arxiv:synthetic@0.1"
MINE = {
    f"mine-{direction}-{graph}" for direction in ("forward", "forward_backward") for graph in (CORA, ARXIV)
}
DEFAULT = {f"spmm_sum-forward_backward-{CORA}", f"spmm_sum-forward_backward-{ARXIV}"}
DEFAULT |= {f"spmm_mean-forward_backward-{CORA}"}
ALL = {
    f"{name}-{direction}-{graph}"
    for name in ("spmm_sum", "spmm_mean")
    for direction in ("forward", "forward_backward")
    for graph in (CORA, ARXIV)
}
OURS = "test_suite.py::test_ours"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    return tmp_path


def parts(nodeid):
    """Return operation, direction and graph of a test id; the name of a test that has none."""
    found = re.search(r"\[(\w+)-(\w+)-torch-float32-int64-(.+)-\d+-cpu\]", nodeid)
    return "-".join(found.groups()) if found else nodeid.partition("::")[2]


def collected(folder, *arguments):
    result = run("--collect-only", "-q", *TORCH, *arguments, cwd=folder, GNNBENCH_CACHE=str(folder))
    return {parts(line) for line in result.stdout.splitlines() if line.startswith("test_suite.py::")}


def test_default_are_one_direction_on_one_graph_what_is_core_and_all_that_is_not_gnnbench_s(folder):
    assert collected(folder) == {*DEFAULT, *MINE, "test_plain"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((OURS,), ALL),
        (("-m", "operations"), ALL | MINE),
        (("-m", "default"), DEFAULT | MINE),
        (("-m", "core"), {name for name in DEFAULT if "sum" in name}),
        (("--gnn-all",), {*ALL, *MINE, "test_plain"}),
    ],
)
def test_a_test_id_m_or_all_replaces_the_choice(folder, arguments, expected):
    assert collected(folder, *arguments) == expected


def test_on_graphs_that_are_named_each_operation_runs(folder):
    found = collected(folder, "--gnn-dataset", "rmat:5,rmat:6", "-k", "test_ours")
    assert found == {
        f"{name}-forward_backward-{graph}"
        for name in ("spmm_sum", "spmm_mean")
        for graph in ("rmat:5", "rmat:6")
    }


def test_one_line_says_what_runs_and_how_to_run_all(folder):
    out = run("--collect-only", *TORCH, "-k", "test_ours", cwd=folder).stdout
    assert "collected 13 items / 10 deselected / 3 selected" in out
    assert "gnnbench: 3 of 8 benchmarks run, the default ones; --gnn-all runs all\n" in out
    none = run("--collect-only", *TORCH, "-k", "test_ours and not backward", cwd=folder)
    assert none.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "gnnbench: 0 of 4 benchmarks run, the default ones; --gnn-all runs all\n" in none.stdout
    for whole in (("--gnn-all",), ("-m", "core"), (OURS,)):
        assert "default ones" not in run("--collect-only", *TORCH, *whole, cwd=folder).stdout


def test_all_first_says_how_long_it_takes_if_it_is_timed(folder):
    arguments = ("--collect-only", "--gnn-all", *TORCH, "--benchmark-max-time", "9.6")
    out = run(*arguments, cwd=folder).stdout
    assert "gnnbench: 12 benchmarks take about 2 min\n" in out
    one = run(*arguments, "-k", "spmm_mean-forward-torch and cora", cwd=folder).stdout
    assert "gnnbench: 1 benchmark takes about 10 s\n" in one
    for untimed in ("--gnn-counters", "--benchmark-disable"):
        assert " about " not in run(*arguments, untimed, cwd=folder).stdout


def test_processes_in_parallel_choose_the_same_and_say_so_once(folder):
    result = run_kernels(*SMALL, *TORCH, "-n", "2", "-v", cwd=folder)
    assert result.returncode == 0, result.stdout
    passed = {parts(line.split()[-1]) for line in result.stdout.splitlines() if " PASSED " in line}
    ours = {f"{name}-forward_backward-rmat:5" for name in ("spmm_sum", "spmm_mean")}
    assert passed == {*ours, "mine-forward-rmat:5", "mine-forward_backward-rmat:5", "test_plain"}
    assert result.stdout.count("4 of 6 benchmarks run, the default ones") == 1


def test_shards_divide_the_default_ones(folder):
    shards = [collected(folder, "--gnn-shard", f"{number}/2") for number in (1, 2)]
    assert shards[0] | shards[1] == {*DEFAULT, *MINE, "test_plain"}
    assert not shards[0] & shards[1]
    out = run("--collect-only", *TORCH, "--gnn-shard", "1/2", cwd=folder).stdout
    assert f"gnnbench: shard 1/2: {len(shards[0])} of 8 tests" in out


def test_the_run_file_says_what_was_left_out(folder):
    run_kernels(*SMALL, *SHORT, *TORCH, "--benchmark-json=run.json", cwd=folder)
    found = json.loads((folder / "run.json").read_text())["gnnbench"]
    assert found["covers"] == ["."]
    assert {parts(name) for name in found["not_default"]} == {
        "spmm_sum-forward-rmat:5",
        "spmm_mean-forward-rmat:5",
    }
    run_kernels(*SMALL, *SHORT, *TORCH, "-k", "sum", "--benchmark-json=run.json", cwd=folder)
    assert json.loads((folder / "run.json").read_text())["gnnbench"]["covers"] == []
    run_kernels(*SMALL, *SHORT, *TORCH, "--gnn-all", "--benchmark-json=run.json", cwd=folder)
    assert "not_default" not in json.loads((folder / "run.json").read_text())["gnnbench"]


OWN_GRAPHS = """
from dataclasses import replace
from gnnbench.workloads.operations import OPERATIONS
OPERATIONS["spmm_mean"] = replace(OPERATIONS["spmm_mean"], graphs=("rmat:6", "rmat:7"))
"""


def test_an_operation_has_its_own_graphs_unless_others_are_named(folder):
    (folder / "conftest.py").write_text(OWN_GRAPHS)
    (folder / "test_suite.py").write_text(SUITE.replace('"spmm_sum", "spmm_mean"', '"spmm_mean"'))
    assert collected(folder, "-k", "test_ours") == {"spmm_mean-forward_backward-rmat:6"}
    assert collected(folder, "-k", "mine") == MINE
    every = collected(folder, "-k", "test_ours", "--gnn-all")
    assert {name.rpartition("-")[2] for name in every} == {"rmat:6", "rmat:7"}
    assert collected(folder, "--gnn-dataset", "rmat:5", OURS) == {
        "spmm_mean-forward-rmat:5",
        "spmm_mean-forward_backward-rmat:5",
    }


def test_only_graphs_that_are_used_are_looked_for(folder):
    (folder / "conftest.py").write_text(OWN_GRAPHS)
    (folder / "test_suite.py").write_text(
        SUITE.partition('@pytest.mark.operations("mine"')[0].replace('"spmm_sum", ', "")
    )
    out = run("--collect-only", *TORCH, cwd=folder, GNNBENCH_CACHE=str(folder)).stdout
    assert "gnnbench: 1 of 4 benchmarks run" in out
    assert "stand-in" not in out


def test_operations_of_one_benchmark_with_different_graphs_are_one_line(folder):
    (folder / "conftest.py").write_text(OWN_GRAPHS)
    result = run("--collect-only", cwd=folder)
    (line,) = (line for line in result.stdout.splitlines() if "different graphs" in line)
    assert "gnnbench: test_ours: operations 'spmm_sum' and 'spmm_mean' have different graphs" in line
    assert "Traceback" not in result.stdout
