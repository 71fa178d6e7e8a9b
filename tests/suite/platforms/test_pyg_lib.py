"""Which operations call pyg-lib, on a stand-in that notes the calls: it is not on the package index."""

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
from tests.runs import ROOT

STAND_IN = Path(__file__).parent / "stand_in"
WITH_PYG_LIB = [name for name, one in OPERATIONS.items() if "pyg_lib" in one.calls]
SORTS = ("coalesce", "to_undirected", "sort_edge_index", "edge_index_sort_by")
DRAWS = ("sample_", "neighbor_", "link_")
CALLS = {
    "edge_softmax_ptr": "softmax_csr",
    **dict.fromkeys(SORTS, "index_sort"),
    **{name: "neighbor_sample" for name in WITH_PYG_LIB if name.startswith(DRAWS)},
    **{name: "hetero_neighbor_sample" for name in WITH_PYG_LIB if name.startswith("hetero_loader")},
}
"""By operation, the function that it calls last."""
MAG = "ogbn-mag-hetero:synthetic@0.001"


def test_each_operation_calls_pyg_lib_on_pyg_lib_alone(tmp_path):
    """A worker draws as its loader does."""
    calls = tmp_path / "calls"
    calls.touch()
    names = [name for name in CALLS if "2_workers" not in name]
    command = [sys.executable, "-m", "pytest", "benchmarks", "--gnn-all", "--benchmark-disable", "--tb=no"]
    command += ["--gnn-platform", "pyg,pyg_lib", "--gnn-dataset", f"cora:synthetic,{MAG}"]
    command += ["-k", f"({' or '.join(f'{name}-' for name in names)}) and (cora or hetero)"]
    path = os.pathsep.join(map(str, (STAND_IN, ROOT)))
    env = {**os.environ, "PYTHONPATH": path, "PYG_LIB_CALLS": str(calls), "GNNBENCH_CACHE": str(tmp_path)}
    env.pop("GNNBENCH_DATA", None)
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    noted = [line.split() for line in calls.read_text().splitlines()]
    assert {test.split("-")[0]: name for name, test in noted} == {name: CALLS[name] for name in names}, done
    assert {test.split("-")[2] for _, test in noted} == {"pyg_lib"}


def test_all_operations_with_such_a_call_are_tested():
    assert sorted(WITH_PYG_LIB) == sorted(CALLS)


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


def drawn(graph, seeds, *, timed):
    """Return what PyG's sampler returns of disjoint draws: each seed's tree, of the first neighbours."""
    (source, target), made = graph.edge_index, neighbors.times(graph)
    frontier, edges = list(enumerate(seeds.tolist())), []
    numbers = {each: number for number, each in enumerate(frontier)}
    for fan_out in neighbors.FAN_OUTS:
        reached = len(numbers)
        for tree, node in frontier:
            late = made[source] > made[seeds[tree]] if timed else torch.tensor(False)
            for entry in ((target == node) & ~late).nonzero().squeeze(1)[:fan_out].tolist():
                number = numbers.setdefault((tree, int(source[entry])), len(numbers))
                edges.append((number, numbers[tree, node], entry))
        frontier = list(numbers)[reached:]
    (tree, node), (row, col, edge) = torch.tensor(list(numbers)).t(), torch.tensor(edges).t()
    return SimpleNamespace(node=node, batch=tree, row=row, col=col, edge=edge)


def of_edges(change):
    """Return a mutant that changes all that a sampler returns of edges."""
    return lambda output: {name: change(getattr(output, name)) for name in ("row", "col", "edge")}


MUTANTS = [
    ("too few neighbours or too many", of_edges(lambda part: part[1:])),
    ("numbered wrongly", lambda output: {"edge": output.edge.roll(1)}),
    ("numbered wrongly", lambda output: {"batch": output.batch.roll(1)}),
    ("came twice", of_edges(lambda part: torch.cat((part[:1], part)))),
]


@pytest.mark.parametrize("timed", [False, True])
def test_wrong_draws_of_separate_trees_are_found(small_graph, monkeypatch, timed):
    monkeypatch.setattr(neighbors, "FAN_OUTS", (3, 2))
    monkeypatch.setattr(neighbors, "BATCH", 20)
    batch = Chosen(SimpleNamespace(edge_permutation=None), neighbors.seeds(small_graph))
    output = drawn(small_graph, batch.nodes, timed=timed)
    check = partial(neighbors._trees, small_graph, batch=batch, timed=timed)
    expected = (neighbors.temporal_reference if timed else neighbors.reference)(small_graph)
    assert all(map(torch.equal, check(output), expected))
    for message, change in MUTANTS:
        with pytest.raises(MismatchError, match=message):
            check(SimpleNamespace(**{**vars(output), **change(output)}))
    other = drawn(small_graph, batch.nodes, timed=not timed)
    with pytest.raises(MismatchError, match="too few neighbours or too many"):
        check(other)
