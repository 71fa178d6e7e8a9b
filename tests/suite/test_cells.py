import sys
from dataclasses import replace

import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.ground.packages import INSTALL
from gnnbench.suite import cells as selection
from gnnbench.suite.operations import OPERATIONS
from gnnbench.suite.platforms import PLATFORMS
from gnnbench.suite.spec import DIRECTIONS, FLOATS, FORWARD, Spec


def cells(*names, platforms=tuple(PLATFORMS), dtypes=("float32",), index_dtypes=("int64",), **declared):
    operations = selection.operations_of(names, **declared)
    return list(selection.cells(operations, platforms, dtypes, index_dtypes, "cpu"))


def test_every_combination_is_a_cell():
    found = cells("spmm_sum", "epoch", dtypes=("float32", "float64"), index_dtypes=("int64", "int32"))
    assert len(found) == len({cell.id for cell in found}) == (2 + 1) * 4 * 2 * 2
    assert found[0].id == "spmm_sum-forward-pyg-float32-int64"


def test_cells_run_or_say_why_not(monkeypatch):
    monkeypatch.setitem(sys.modules, "dgl", None)
    by_platform = {cell.platform: cell.skip for cell in cells("conv") if cell.direction == FORWARD}
    assert by_platform["pyg"] is None
    assert by_platform["torch"] == OPERATIONS["conv"].absent["torch"]
    assert by_platform["dgl"] == f"dgl is not installed: {INSTALL['dgl']}"
    found = cells("spmm_sum", platforms=("pyg",), dtypes=("float32", "bfloat16"))
    assert {(cell.dtype, cell.skip) for cell in found} == {
        ("float32", None),
        ("bfloat16", "the CSR product @ does not support half precision on the CPU"),
    }


def test_a_pull_request_runs_an_operations_last_direction_only():
    core = [(cell.operation, cell.direction) for cell in cells("linear", "spmm_sum", "epoch") if cell.core]
    assert core == [("spmm_sum", "forward_backward")] * 4 + [("epoch", "train")] * 4


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({}, [("forward", "torch", False)]),
        ({"platforms": ["torch", "pyg"]}, [("forward", "pyg", False), ("forward", "torch", False)]),
        (
            {"directions": ["forward", "backward"], "core": True},
            [("forward", "torch", False), ("backward", "torch", True)],
        ),
    ],
)
def test_own_operation_runs_where_and_how_it_says_and_nowhere_else(declared, expected):
    operations = selection.operations_of(["mine"], **declared)
    found = list(selection.cells(operations, tuple(PLATFORMS), ("float32",), ("int64",), "cpu"))
    assert [(cell.direction, cell.platform, cell.core) for cell in found] == expected
    assert not any(cell.skip for cell in found)
    assert all(selection.is_default(spec(cell, "pubmed"), ["cora"], narrowed=False) for cell in found)


@pytest.mark.parametrize(
    ("name", "declared", "message"),
    [
        ("mine", {"platforms": ["jax"]}, f"unknown platform 'jax', choose from {', '.join(PLATFORMS)}"),
        ("mine", {"directions": ["sideways"]}, f"'sideways', choose from {', '.join(DIRECTIONS)}"),
        ("spmm_sum", {"platforms": ["dgl"]}, "operation 'spmm_sum' is gnnbench's own"),
        ("spmm_sum", {"directions": ["forward"]}, "give yours another name"),
        ("spmm_sum", {"core": True}, "give yours another name"),
    ],
)
def test_wrong_declarations_are_refused(name, declared, message):
    with pytest.raises(UsageError, match=message):
        selection.operations_of([name], **declared)


def spec(cell, dataset):
    words = (cell.operation, cell.direction, cell.platform, cell.dtype, cell.index_dtype)
    return Spec(*words, dataset, 8, "cpu")


def default(*names, narrowed=True):
    """Return operation, direction and graph of the default benchmarks."""
    return [
        (cell.operation, cell.direction, graph)
        for graph in ("cora", "pubmed")
        for cell in cells(*names, platforms=("torch",))
        if selection.is_default(spec(cell, graph), ["cora"], narrowed=narrowed)
    ]


def test_a_run_that_names_nothing_has_what_is_core_and_one_operation_of_each_other_group():
    groups = {operation.group for operation in OPERATIONS.values() if operation.default}
    with_core = {operation.group for operation in OPERATIONS.values() if operation.core}
    examples = [operation.group for operation in OPERATIONS.values() if operation.example]
    assert sorted(examples) == sorted(groups - with_core)
    assert all(one.default for one in OPERATIONS.values() if one.core or one.example)
    assert default("spmm_sum", narrowed=False) == default("spmm_sum")
    assert default("scatter_sum", narrowed=False) == [("scatter_sum", "forward_backward", "cora")]
    assert default("spmm_mean", "scatter_max", "spmm_sum_all_threads", narrowed=False) == []


def test_each_operation_has_default_benchmarks_that_run_unless_it_says_not():
    for name, operation in OPERATIONS.items():
        for dtype in FLOATS:
            runnable = [
                cell
                for cell in cells(name, dtypes=(dtype,))
                if cell.platform in operation.calls
                and not operation.limit(cell.platform, cell.direction, dtype, "int64", "cpu")
            ]
            found = {
                cell.platform
                for cell in runnable
                if selection.is_default(spec(cell, "cora"), ["cora"], narrowed=True)
            }
            assert found == {cell.platform for cell in runnable if operation.default}, (name, dtype)
            assert dtype != "float32" or bool(found) == operation.default, name


def test_the_operations_of_a_benchmark_have_the_same_graphs():
    one, other = OPERATIONS["spmm_sum"], replace(OPERATIONS["spmm_max"], graphs=("rmat:7",))
    assert selection.graphs([one]) == selection.graphs([]) == ()
    assert selection.graphs([other, replace(one, graphs=("rmat:7",))]) == ("rmat:7",)
    with pytest.raises(UsageError, match="'spmm_sum' and 'spmm_max' use different graphs: split"):
        selection.graphs([one, other])
