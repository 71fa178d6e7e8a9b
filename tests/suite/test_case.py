import pytest
import torch

from gnnbench.suite.inputs import gradient_for, pattern
from gnnbench.suite.spec import AUTOCAST, FLOATS


def test_pattern_has_zero_mean_and_unit_variance():
    columns = pattern(20_000, 16)
    assert columns.dtype == torch.float64
    torch.testing.assert_close(columns.mean(0), torch.zeros(16).double(), atol=0.01, rtol=0)
    torch.testing.assert_close(columns.var(0), torch.ones(16).double(), atol=0.01, rtol=0)


@pytest.mark.parametrize(
    ("rows", "columns"), [pytest.param(8_388_593, 1, marks=pytest.mark.nightly), (200_000, 8)]
)
def test_no_number_comes_twice_in_a_column_of_float32(rows, columns):
    for column in pattern(rows, columns).float().t():
        assert len(column.unique()) == rows
    first, second = pattern(2, 50_000)
    assert (first != second).all(), "no column is constant, however wide"


def test_pattern_is_the_same_for_more_rows_and_columns_and_in_parts_of_any_type(monkeypatch):
    whole = pattern(50, 4)
    assert torch.equal(whole, pattern(100, 9)[:50, :4])
    monkeypatch.setattr("gnnbench.suite.inputs._VALUES_AT_ONCE", 13)
    assert torch.equal(pattern(50, 4), whole)
    assert torch.equal(pattern(50, 4, torch.bfloat16, shift=100), (whole + 100).bfloat16())
    assert pattern(0, 3).shape == (0, 3)


def test_gradient_of_a_dense_output_is_a_pattern_and_of_a_loss_one():
    assert torch.equal(gradient_for(torch.zeros(5, 3)), pattern(5, 3).float())
    assert torch.equal(gradient_for(torch.zeros(5)), pattern(5, 1).squeeze(1).float())
    assert gradient_for(torch.zeros((), dtype=torch.bfloat16)) == torch.ones((), dtype=torch.bfloat16)


def test_gradient_of_edges_follows_the_entry_not_its_place():
    entries, order = torch.tensor([[0, 1, 2, 2], [3, 1, 0, 1]]), torch.tensor([2, 0, 3, 1])
    gradient = gradient_for(torch.zeros(4), entries)
    assert len(gradient.unique()) == 4
    assert torch.equal(gradient_for(torch.zeros(4), entries[:, order]), gradient[order])


@pytest.mark.parametrize("direction", ["forward", "forward_backward", "backward", "step", "train"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_inputs_are_fresh_leaves_of_the_specs_type(make_case, direction, dtype):
    case = make_case(direction=direction, dtype=dtype, hidden=8)
    weight, bias = case.weights(24, 8)
    inputs = [case.features(), case.features(3), weight, bias, case.edge_weight()]
    shapes = [(60, 8), (60, 3), (24, 8), (8,), (case.graph.num_edges,)]
    assert [tuple(tensor.shape) for tensor in inputs] == shapes
    for tensor in inputs:
        assert tensor.is_leaf
        assert tensor.dtype == getattr(torch, "float32" if dtype == AUTOCAST else dtype)
        assert tensor.requires_grad == (direction != "forward")
    assert not case.node_features().requires_grad
    assert case.edge_weight().min() > 0


@pytest.mark.parametrize("dtype", FLOATS)
def test_only_the_type_autocast_wraps_the_timed_function(make_case, dtype):
    def run():
        return torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")

    found = make_case(dtype=dtype).call(run)
    assert (found is run) == (dtype != AUTOCAST), "no call more"
    assert dtype != AUTOCAST or found() == (True, torch.bfloat16)
    assert not torch.is_autocast_enabled("cpu")


def test_inputs_share_no_memory_with_the_graph_or_each_other(make_case, small_graph):
    case, before = make_case(), small_graph.edge_index.clone()
    for make in (case.node_features, case.features, case.edge_weight, case.edge_index):
        make().zero_()
        assert make().any()
    for array in case.csr():
        array.zero_()
    assert torch.equal(small_graph.edge_index, before)
    assert small_graph.x.any()
