"""What PyG calls of pyg-lib, on a stand-in with the same signatures: it is not on the package index.

Results are checked as those of other platforms. `pyg` beside it calls nothing of pyg-lib.
"""

import importlib.util
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from gnnbench.engine.ground import packages
from gnnbench.suite import cells
from gnnbench.suite.accuracy import MismatchError
from gnnbench.suite.operations import OPERATIONS, neighbors
from gnnbench.suite.platforms import Chosen, without_pyg_lib
from tests.sampling import nightly
from tests.suite import ROOT

STAND_IN = Path(__file__).parent / "stand_in"
WITH_PYG_LIB = [name for name, one in OPERATIONS.items() if "pyg_lib" in one.calls]
NODES, EDGES = 2708, 10556
SORTED = {"inputs": [EDGES], "max_value": NODES * NODES}
DRAWN = {
    "rowptr": [NODES + 1],
    "col": [EDGES],
    "num_neighbors": [15, 10],
    "node_time": None,
    "edge_time": None,
    "seed_time": None,
    "edge_weight": None,
    "csc": True,
    "replace": False,
    "directed": True,
    "disjoint": False,
    "temporal_strategy": "uniform",
    "return_edge_id": True,
}
EXPECTED = {
    "edge_softmax_ptr": ("softmax_csr", {"src": [EDGES, 8], "ptr": [NODES + 1], "dim": 0}),
    "coalesce": ("index_sort", SORTED),
    "to_undirected": ("index_sort", SORTED),
    "sort_edge_index": ("index_sort", SORTED),
    "edge_index_sort_by": ("index_sort", {"inputs": [EDGES], "max_value": NODES}),
    "sample_neighbors": ("neighbor_sample", {**DRAWN, "seed": [128]}),
    "sample_neighbors_replaced": ("neighbor_sample", {**DRAWN, "seed": [128], "replace": True}),
    "sample_neighbors_weighted": ("neighbor_sample", {**DRAWN, "seed": [128], "edge_weight": [EDGES]}),
    "sample_neighbors_disjoint": ("neighbor_sample", {**DRAWN, "seed": [128], "disjoint": True}),
    "sample_neighbors_temporal": (
        "neighbor_sample",
        {**DRAWN, "seed": [128], "disjoint": True, "node_time": [NODES]},
    ),
    **{
        f"neighbor_loader{first}_{workers}_workers": ("neighbor_sample", {**DRAWN, "seed": [128]})
        for first in ("", "_first")
        for workers in (0, 2)
    },
    # Of each batch as many seeds as 512 ends have different nodes.
    **{f"link_loader_{workers}_workers": ("neighbor_sample", DRAWN) for workers in (0, 2)},
}
"""By operation on Cora's stand-in: the function of pyg-lib, and its arguments, tensors by their shapes."""
LOADERS = [f"hetero_loader_{workers}_workers" for workers in (0, 2)]
MAG = "ogbn-mag-hetero:synthetic@0.001"


@pytest.fixture(scope="module", params=["2_workers", nightly(pytest.param("nothing"))])
def without(request):
    """What names of operations have that are left out: a worker draws as its loader does."""
    return request.param


@pytest.fixture(scope="module")
def found(tmp_path_factory, without):
    """The calls by test, of benchmarks that ran once each in a process that finds the stand-in."""
    folder = tmp_path_factory.mktemp("calls")
    calls = folder / "calls"
    calls.touch()
    names = " or ".join(f"{name}-" for name in EXPECTED)
    command = [sys.executable, "-m", "pytest", "benchmarks", "--gnn-all", "--benchmark-disable", "-q", "-rs"]
    command += ["--gnn-platform", "pyg,pyg_lib", "--gnn-dataset", f"cora:synthetic,{MAG}"]
    command += ["-k", f"(({names}) and cora or hetero_loader and pyg_lib) and not {without}"]
    path = os.pathsep.join(map(str, (STAND_IN, ROOT)))
    env = {**os.environ, "PYTHONPATH": path, "PYG_LIB_CALLS": str(calls), "GNNBENCH_CACHE": str(folder)}
    env.pop("GNNBENCH_DATA", None)
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {}
    for line in calls.read_text().splitlines():
        call = json.loads(line)
        found.setdefault(call.pop("test"), []).append(call)
    return found


def test_each_operation_calls_pyg_lib_on_pyg_lib_alone(found, without):
    assert not [test for test in found if "-pyg-" in test]
    operations = {test.partition("-")[0]: calls for test, calls in found.items() if "cora" in test}
    expected = {name: call for name, call in EXPECTED.items() if without not in name}
    assert sorted(operations) == sorted(expected)
    for operation, (name, given) in expected.items():
        calls = [call for call in operations[operation] if call["call"] == name]
        assert calls, operation
        assert [call for call in calls if given.items() <= call.items()] == calls, operation


def test_batches_of_a_graph_with_types_are_drawn_by_pyg_lib(found, without):
    typed = [calls for test, calls in found.items() if "mag" in test]
    assert len(typed) == (1 if without in LOADERS[1] else 2)
    for calls in typed:
        drawn = [call for call in calls if call["call"] == "hetero_neighbor_sample"]
        assert len(drawn) >= 8
        for call in drawn:
            assert call["flags"] == [True, False, True, False, "uniform", True]
            assert call["times_and_weights"] == [None] * 4
            assert list(call["seeds"]) == ["paper"]
            assert len(call["num_neighbors"]) == len(call["edge_types"]) == 7
            assert set(map(tuple, call["num_neighbors"].values())) == {(15, 10)}


def test_all_operations_with_such_a_call_are_tested():
    assert sorted(WITH_PYG_LIB) == sorted((*EXPECTED, *LOADERS))


@pytest.mark.parametrize("name", WITH_PYG_LIB)
def test_it_is_a_skip_with_the_command_where_it_is_not_installed(monkeypatch, name):
    monkeypatch.setattr(packages, "is_installed", lambda package: package != "pyg_lib")
    monkeypatch.setattr(packages, "version", lambda package: {"torch": "2.13.0+cpu"}[package])
    for cell in cells.cells([OPERATIONS[name]], ["pyg_lib"], ["float32"], ["int64"], "cpu"):
        assert cell.skip == (
            "pyg_lib is not installed: pip install pyg_lib -f https://data.pyg.org/whl/torch-2.13.0+cpu.html"
        )


def test_switches_are_what_they_were_also_after_an_error():
    from torch_geometric import typing

    before = dict(vars(typing))
    with pytest.raises(KeyboardInterrupt), without_pyg_lib():  # noqa: PT012
        assert not typing.WITH_SOFTMAX
        raise KeyboardInterrupt
    assert vars(typing) == before


@pytest.fixture(scope="module")
def stand_in():
    """The stand-in, which this process does not take for pyg-lib."""
    spec = importlib.util.spec_from_file_location("stand_in_of_pyg_lib", STAND_IN / "pyg_lib/__init__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn(stand_in, graph, seeds, *, timed):
    """Return what PyG's sampler returns of disjoint draws by pyg-lib."""
    source, target = graph.edge_index
    pointer = torch.cat((torch.zeros(1).long(), target.bincount(minlength=60).cumsum(0)))
    time = neighbors.times(graph) if timed else None
    counts = list(neighbors.FAN_OUTS)
    row, col, nodes, edge, *_ = stand_in.neighbor_sample(pointer, source, seeds, counts, time, disjoint=True)
    tree, node = nodes.t()
    return SimpleNamespace(node=node, batch=tree, row=row, col=col, edge=edge)


def without_first(output):
    return {name: getattr(output, name)[1:] for name in ("row", "col", "edge")}


MUTANTS = [
    ("too few neighbours or too many", without_first),
    ("numbered wrongly", lambda output: {"edge": output.edge.roll(1)}),
    ("numbered wrongly", lambda output: {"batch": output.batch.roll(1)}),
    (
        "came twice",
        lambda output: {
            name: torch.cat((getattr(output, name)[:1], getattr(output, name)))
            for name in ("row", "col", "edge")
        },
    ),
]


@pytest.mark.parametrize("timed", [False, True])
def test_wrong_draws_of_separate_trees_are_found(stand_in, small_graph, monkeypatch, timed):
    monkeypatch.setattr(neighbors, "FAN_OUTS", (3, 2))
    monkeypatch.setattr(neighbors, "BATCH", 20)
    batch = Chosen(SimpleNamespace(edge_permutation=None), neighbors.seeds(small_graph))
    output = drawn(stand_in, small_graph, batch.nodes, timed=timed)
    check = partial(neighbors._trees, small_graph, batch=batch, timed=timed)
    expected = (neighbors.temporal_reference if timed else neighbors.reference)(small_graph)
    assert all(map(torch.equal, check(output), expected))
    for message, change in MUTANTS:
        with pytest.raises(MismatchError, match=message):
            check(SimpleNamespace(**{**vars(output), **change(output)}))
    other = drawn(stand_in, small_graph, batch.nodes, timed=not timed)
    with pytest.raises(MismatchError, match="too few neighbours or too many"):
        check(other)
