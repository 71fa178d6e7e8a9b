import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from gnnbench.suite import counter_baseline
from gnnbench.suite.operations import OPERATIONS
from tests.runs import ROOT, SMALL, run_kernels
from tests.sampling import nightly

NONE = {"copies": {}, "copied_bytes": {}, "library_calls": {}}
FILES = sorted((ROOT / counter_baseline.FOLDER).glob("*.json"))
COUNTS = {"operators": {"aten::mm": 2}, "python_calls": {"Python calls": 7}, **NONE}


def test_pyg_s_file_is_another_where_it_finds_torch_sparse(monkeypatch):
    installed = {"torch": "2.13.0+cpu", "torch_geometric": "2.8.1"}
    monkeypatch.setattr(counter_baseline, "version", installed.get)
    assert counter_baseline.path_of(Path(), "pyg").name.endswith("_torch_geometric-2.8.1.json")
    installed |= {"torch_scatter": "2.1.2", "torch_sparse": "0.6.18"}
    assert counter_baseline.path_of(Path(), "pyg") == counter_baseline.path_of(Path(), "sparse")


def test_written_is_read_and_other_benchmarks_stay(tmp_path):
    path = counter_baseline.path_of(tmp_path, "torch")
    assert counter_baseline.read(path) == {}
    counter_baseline.write(path, "torch", {"one": COUNTS, "two": COUNTS})
    changed = {**COUNTS, "operators": {"aten::mm": 3}}
    with path.open() as half_read:
        counter_baseline.write(path, "torch", {"two": changed})
        assert json.load(half_read)["counters"] == {"one": COUNTS, "two": COUNTS}
    assert counter_baseline.read(path) == {"one": COUNTS, "two": changed}
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def draws(name):
    """Tell whether the operation of a benchmark draws at random."""
    operation = name.partition("-")[0]
    known = OPERATIONS.get(operation)
    return operation == "epoch_sage_batches" or (known and known.group == "sampling")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_baselines_are_read_and_stand_ins_are_recorded_with_the_real_graph(file):
    """A call does the same on Cora and its stand-in: a difference is a record that was not renewed."""
    by_graph = defaultdict(dict)
    for name, counts in counter_baseline.read(file).items():
        operation, graph = re.fullmatch(r"(.+-int64)-(.+)-\d+-cpu", name).groups()
        by_graph[graph][operation] = counts
    relational = {name.partition("-")[0] for name in by_graph.pop("aifb:synthetic", ())}
    assert {name for name in relational if not OPERATIONS[name].relational} == set()
    by_graph.pop("molecules:10", None)
    # What is drawn differs, and some of it is counted on one graph only.
    for graph, counted in by_graph.items():
        by_graph[graph] = {name: counts for name, counts in counted.items() if not draws(name)}
    assert by_graph.keys() == {"cora", "cora:synthetic", "ogbn-arxiv:synthetic@0.1"}
    assert by_graph["cora:synthetic"] == by_graph["cora"]
    assert by_graph["ogbn-arxiv:synthetic@0.1"].keys() == by_graph["cora"].keys()


@pytest.mark.parametrize("parallel", [(), nightly(pytest.param(("-n", "1")))])
def test_an_edited_count_fails_exactly_its_benchmark_and_names_itself(tmp_path, parallel):
    (tmp_path / "test_own.py").write_text((ROOT / "benchmarks/test_spmm.py").read_text())
    only = ("--gnn-all", *SMALL, "--gnn-platform", "torch", "-k", "test_spmm", f"--rootdir={tmp_path}")

    def counted(status, *options):
        result = run_kernels(*only, *options, cwd=tmp_path)
        assert result.returncode == status, result.stdout
        return result.stdout

    check, update = ("--gnn-counters",), ("--gnn-counters=update",)
    assert "; record with --gnn-counters=update" in counted(1, *check, "--gnn-strict")
    assert "6 recorded in baselines/counters/python-" in counted(0, *update)
    file = counter_baseline.path_of(tmp_path, "torch")
    saved = json.loads(file.read_text())
    name = next(name for name in saved["counters"] if name.startswith("spmm_mean-forward-"))
    saved["counters"][name]["operators"]["aten::sort"] = 1
    del saved["counters"][name.replace("mean", "sum")]
    file.write_text(json.dumps(saved))
    failed = counted(1, *check, *parallel)
    assert "gnnbench: 6 benchmarks counted, none timed" in failed
    assert "gnnbench: 4 equal to the baseline, baselines/counters/python-" in failed
    assert "gnnbench: 1 different from the baseline, baselines/counters/python-" in failed
    assert "1 not compared: not in baselines/counters/python-" in failed
    assert f"{name}: -1 aten::sort" in failed
    assert "1 failed, 5 passed" in failed
    assert f"gnnbench: {name}: -1 aten::sort" in counted(0, *update)
