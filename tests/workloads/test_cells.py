import sys

import pytest

from gnnbench.errors import UsageError
from gnnbench.workloads import cells as selection
from gnnbench.workloads.operations import OPERATIONS
from gnnbench.workloads.platforms import PLATFORMS
from gnnbench.workloads.spec import DIRECTIONS, FORWARD


def cells(*names, platforms=tuple(PLATFORMS), dtypes=("float32",), index_dtypes=("int64",)):
    return list(selection.cells(selection.declared(names), platforms, dtypes, index_dtypes, "cpu"))


def test_every_combination_is_a_cell():
    found = cells("spmm_sum", "epoch", dtypes=("float32", "float64"), index_dtypes=("int64", "int32"))
    assert len(found) == len({cell.id for cell in found}) == (2 + 1) * 4 * 2 * 2
    assert found[0].id == "spmm_sum-forward-pyg-float32-int64"


def test_cells_run_or_say_why_not(monkeypatch):
    monkeypatch.setitem(sys.modules, "dgl", None)
    by_platform = {cell.platform: cell.skip for cell in cells("conv") if cell.direction == FORWARD}
    assert by_platform["pyg"] is None
    assert by_platform["torch"] == OPERATIONS["conv"].absent["torch"]
    assert by_platform["dgl"] == "dgl is not installed: pip install 'gnnbench[dgl]'"


def test_types_that_a_library_lacks_are_skipped_with_the_reason():
    found = cells("spmm_sum", platforms=("pyg",), dtypes=("float32", "bfloat16"))
    assert {(cell.dtype, cell.skip) for cell in found} == {
        ("float32", None),
        ("bfloat16", "the CSR product @ does not support bfloat16 on the CPU"),
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
    operations = selection.declared(["mine"], **declared)
    found = list(selection.cells(operations, tuple(PLATFORMS), ("float32",), ("int64",), "cpu"))
    assert [(cell.direction, cell.platform, cell.core) for cell in found] == expected
    assert not any(cell.skip for cell in found)


@pytest.mark.parametrize(
    ("names", "declared", "message"),
    [
        (["mine"], {"platforms": ["jax"]}, "unknown platform 'jax', choose from pyg, sparse, torch, dgl"),
        (["mine"], {"directions": ["sideways"]}, f"'sideways', choose from {', '.join(DIRECTIONS)}"),
        (["spmm_sum"], {"platforms": ["dgl"]}, "operation 'spmm_sum' is gnnbench's own"),
        (["spmm_sum"], {"directions": ["forward"]}, "give yours another name"),
        (["spmm_sum"], {"core": True}, "give yours another name"),
    ],
)
def test_wrong_declarations_are_refused(names, declared, message):
    with pytest.raises(UsageError) as caught:
        selection.declared(names, **declared)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_operations_former_name_selects_it():
    (operation,) = selection.declared(["add_self_loops"])
    assert operation is OPERATIONS["add_remaining_self_loops"]
