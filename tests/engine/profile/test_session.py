"""`gnnbench profile` in real processes, and what the plugin in pytest's process selects."""

import json
import pstats
import re

import pytest

from gnnbench.engine.profile import KINDS
from gnnbench.engine.profile.session import Profiler
from gnnbench.suite.operations import OPERATIONS
from tests.runs import gnnbench
from tests.sampling import nightly

ON_CPU = tuple(name for name in KINDS if name != "kernels")
SMALL = ("--dataset", "rmat:5", "--hidden", "8", "--device", "cpu")

SUITE = """
import os
import torch


def test_matmul(benchmark):
    found = benchmark(torch.mm, torch.ones(4, 4), torch.ones(4, 4))
    assert found.sum() == 64


def test_pedantic(benchmark):
    made, given_back = [], []

    def setup():
        made.append(torch.ones(3).cumsum(0))
        return (made[-1],), {}

    def teardown(one):
        given_back.append(one.sort().values)

    assert benchmark.pedantic(torch.sum, setup=setup, teardown=teardown, rounds=2) == 6
    assert len(made) == len(given_back) > 3


def test_raises(benchmark):
    calls = []

    def work(x):
        calls.append(x)
        if len(calls) == 3:
            raise ValueError("the third call")

    benchmark(work, torch.ones(1))


def test_plain():
    pass


def test_dies(benchmark):
    benchmark(os._exit, 1)


def test_more(benchmark):
    benchmark(int)
"""


def profile(folder, *arguments, **variables):
    return gnnbench("profile", *arguments, "--folder", str(folder), **variables)


def records(folder):
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*/*/profile.json"))]


EACH = set(OPERATIONS["epoch"].calls)


@pytest.mark.parametrize("platforms", [{"pyg", "torch"}, nightly(pytest.param(EACH))])
def test_every_kind_on_every_platform_leaves_a_record_and_files_for_their_own_readers(tmp_path, platforms):
    """One run: it takes as long as eight others."""
    folder = tmp_path / "profiles"
    chosen = (*SMALL, "--platform", ",".join(platforms), "--with", ",".join(KINDS), "--epochs", "2")
    result = profile(folder, "epoch", *chosen)
    assert result.returncode == 0, result.stderr
    found = records(folder)
    assert {record["spec"]["platform"] for record in found} == platforms
    for record in found:
        assert set(record["sections"]) == {*ON_CPU, "counts"}
        assert "CUDA" in record["unavailable"]["kernels"]
        assert (record["version"], record["repeats"]) == (1, 2)
        assert record["id"].startswith(f"epoch-train-{record['spec']['platform']}-float32-int64-rmat:5-8")
        assert dict(record["environment"]["libraries"])["torch"]
    for path in folder.glob("*/*"):
        assert pstats.Stats(str(path / "functions.prof")).total_calls > 0
        events = json.loads((path / "gnnbench.pt.trace.json").read_text())["traceEvents"]
        assert any(event.get("name") == "forward" for event in events)
    assert result.stderr.count("'kernels' needs CUDA") == 1, "once, not for each benchmark"
    assert re.search(rf"^\[1/{len(platforms)}\] epoch .*: profiled$", result.stderr, re.MULTILINE)


def test_any_suite_is_profiled_and_gets_its_results_and_errors_until_it_dies(tmp_path):
    (tmp_path / "test_suite.py").write_text(SUITE)
    kinds = "functions,trace,kernels"
    found = profile(tmp_path / "p", "test_suite.py", "--with", kinds, "--epochs=3", cwd=tmp_path)
    assert found.returncode == 2, found.stderr
    assert "ValueError: the third call" in found.stderr
    ends = [line.partition(": ")[2] for line in found.stderr.splitlines() if line.startswith("[")]
    raised = re.search("the third call, test_suite.py:[0-9]+$", ends[2])
    assert (ends[:2], bool(raised), ends[3:]) == (["profiled"] * 2, True, ["pytest ended with exit status 1"])
    assert found.stdout.count("saved in") == 2
    assert len(list((tmp_path / "p").iterdir())) == 3, "an unfinished one of what died"
    by_id = {one["id"]: one for one in records(tmp_path / "p")}
    assert set(by_id) == {"test_suite.py::test_matmul", "test_suite.py::test_pedantic"}
    assert all(one["spec"] is None for one in by_id.values())
    counted = by_id["test_suite.py::test_matmul"]["sections"]["counts"]["operators"]
    assert [(row["name"], row["count"]) for row in counted] == [("aten::mm", 1)]
    pedantic = by_id["test_suite.py::test_pedantic"]["sections"]
    assert [(row["name"], row["count"]) for row in pedantic["counts"]["operators"]] == [("aten::sum", 1)]
    assert not re.search("setup|teardown|cumsum|sort", json.dumps(pedantic["functions"]))


def test_what_is_wrong_is_a_failed_test_and_no_profile(tmp_path):
    (tmp_path / "test_suite.py").write_text(
        "import pytest\n"
        "@pytest.mark.operations('twice')\n"
        "def test_twice(case, measure):\n"
        "    measure(lambda x: 3 * x, case.features(), reference=lambda graph, x: 2 * x)\n"
    )
    found = profile(tmp_path / "p", "test_suite.py", *SMALL, "--with=phases", cwd=tmp_path)
    assert found.returncode == 2
    assert "output is wrong" in found.stderr
    assert not list(tmp_path.rglob("profile.json"))


SELECTED = """
import pytest


@pytest.mark.parametrize("graph", ["cora", "rmat:5"])
@pytest.mark.parametrize("operation", ["gat", "gat_cached", "sampled_gat"])
@pytest.mark.parametrize(("direction", "platform"), [("forward", "pyg")])
def test_any(benchmark, operation, direction, platform, graph):
    pass


def test_gat_layer(benchmark):
    pass


def test_plain():
    pass
"""
GAT, CACHED, SAMPLED = (
    [f"test_any[forward-pyg-{name}-{graph}]" for graph in ("cora", "rmat:5")]
    for name in ("gat", "gat_cached", "sampled_gat")
)
OTHER = ["test_gat_layer"]


class Parent(list):
    """Is told what goes on."""

    send = list.append


@pytest.mark.parametrize(
    ("select", "arguments", "expected"),
    [
        (None, (), [*GAT, *CACHED, *SAMPLED, *OTHER]),
        ("gat", (), GAT),
        ("sampled", (), SAMPLED),
        ("gat_layer", (), OTHER),
        ("cached or layer", (), [*CACHED, *OTHER]),
        ("cached or layer", ("-k", "pyg"), CACHED),
        ("gat", ("--deselect", "test_suite.py::test_any[forward-pyg-gat-cora]"), GAT[1:]),
    ],
)
def test_operations_come_before_words_and_words_before_expressions(pytester, select, arguments, expected):
    pytester.makepyfile(test_suite=SELECTED)
    terms = {"select": select, "kinds": ["phases"], "repeats": 1, "folder": str(pytester.path)}
    parent = Parent()
    pytester.inline_run(*arguments, plugins=[Profiler(terms, parent)])
    assert parent[0]["names"] == [f"test_suite.py::{name}" for name in expected]
    assert parent[0]["notes"] == []  # the user expects what is left out
    assert [one["answer"] for one in parent] == ["collected", *["ended"] * len(expected)]
    assert {one["how"] for one in parent[1:]} == {"it was not profiled"}
