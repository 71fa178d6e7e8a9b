"""On a large graph a projection or a sample finds what the comparison of all entries finds."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gnnbench.workloads import platforms
from gnnbench.workloads.graphs.graph import Graph
from gnnbench.workloads.kept_reference import KeptReference
from gnnbench.workloads.operations import OPERATIONS, REFERENCES
from gnnbench.workloads.verify import MismatchError, verify, with_backward
from gnnbench.workloads.view import LARGE, Projection, Rows, View, view_of

WIDTH = 16


@pytest.fixture(scope="module")
def graph():
    """Three thousand nodes, one of them with 600 neighbours and several with none."""
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 2990, (2, 9000))
    source[:600] = 17
    x = rng.random((3000, 4), dtype=np.float32)
    parts = rng.permutation(3000)[:30].reshape(3, 10)
    return Graph.build("part", source, target, x, rng.integers(0, 2, 3000), 2, *parts, synthetic=True)


@pytest.fixture(params=["projection", "rows"])
def view(request, graph, monkeypatch):
    if request.param == "projection":
        return Projection(graph)
    monkeypatch.setattr("gnnbench.workloads.view.SAMPLED_ROWS", 512)
    return Rows(graph, 1, WIDTH)


@pytest.fixture
def check(view, graph, make_case):
    """Verify a function of x and edge_index against the sum over neighbours."""

    def check(run, direction="forward", dtype="float32"):
        case = make_case(graph=graph, direction=direction, dtype=dtype, hidden=WIDTH)
        module = platforms.load("torch")
        inputs = (case.edge_index(), case.features())
        if direction == "forward_backward":
            run, inputs = with_backward(module, run, inputs)
        verify(case, module, run, inputs, REFERENCES.spmm_sum, view=view)

    return check


def sums(edge_index, x):
    return torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("direction", ["forward", "forward_backward"])
def test_a_right_kernel_passes(check, direction, dtype):
    check(sums, direction, dtype)


def means(edge_index, x):
    return sums(edge_index, x) / edge_index[1].bincount(minlength=len(x)).clamp(min=1).unsqueeze(1)


def with_rows_of_low_degree_empty(edge_index, x):
    return sums(edge_index, x) * (edge_index[1].bincount(minlength=len(x)) > 2).unsqueeze(1)


def transposed(edge_index, x):
    return sums(edge_index[:, torch.arange(edge_index.size(1)) % 2 > 0].repeat(1, 2), x)


MUTANTS = {
    "without a column": lambda e, x: sums(e, x * (torch.arange(WIDTH) < WIDTH - 1)),
    "without every tenth entry": lambda e, x: sums(e[:, torch.arange(e.size(1)) % 10 > 0], x),
    "without the hub": lambda e, x: sums(e[:, e[1] != 17], x),
    "rows of low degree empty": with_rows_of_low_degree_empty,
    "in the wrong order": lambda e, x: sums(e, x).roll(1, dims=0),
    "columns in the wrong order": lambda e, x: sums(e, x).roll(1, dims=1),
    "means": means,
    "scaled": lambda e, x: 1.001 * sums(e, x),
    "in bfloat16": lambda e, x: sums(e, x.bfloat16()).to(x.dtype),
    "nan": lambda e, x: sums(e, x).masked_fill(sums(e, x) > 3, torch.nan),
    "transposed": transposed,
}


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_a_wrong_output_and_a_wrong_gradient_of_a_right_output_are_found(check, mutant):
    """The gradient of a sum over the neighbours of an undirected graph is the same sum."""

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, edge_index, x):
            ctx.save_for_backward(edge_index)
            return sums(edge_index, x)

        @staticmethod
        def backward(ctx, gradient):
            return None, mutant(ctx.saved_tensors[0].flip(0), gradient)

    with pytest.raises(MismatchError, match="output is wrong"):
        check(mutant)
    check(Wrong.apply)
    with pytest.raises(MismatchError, match="gradient of input tensor 0 is"):
        check(Wrong.apply, "forward_backward")


def test_one_entry_of_a_sampled_row_is_found(check):
    def wrong(edge_index, x):
        output = sums(edge_index, x)
        output[-1, 3] += 1  # the last row is always in the sample
        return output

    with pytest.raises(MismatchError, match="output is wrong"):
        check(wrong)


def test_a_gradient_outside_the_sample_is_found(graph, make_case, monkeypatch):
    monkeypatch.setattr("gnnbench.workloads.view.SAMPLED_ROWS", 4)
    case = make_case(graph=graph, direction="forward_backward", hidden=WIDTH)
    module = platforms.load("torch")

    def run(edge_index, x):
        x.register_hook(lambda gradient: gradient + 1e-3)
        return sums(edge_index, x)

    run, inputs = with_backward(module, run, (case.edge_index(), case.features()))
    with pytest.raises(MismatchError, match="is not zero where the output does not depend on it"):
        verify(case, module, run, inputs, REFERENCES.spmm_sum, view=Rows(graph, 1, WIDTH))


def test_gradients_of_parameters_and_of_entries_are_those_of_the_sample(graph, make_case):
    """u_mul_e_sum has weights by entry; a scaled gradient of them is found."""
    case = make_case("update_all_u_mul_e_sum", graph=graph, direction="forward_backward", hidden=WIDTH)
    module = platforms.load("torch")
    source, target = case.edge_index()

    def run(x, weight, factor):
        scaled = weight.detach() * (1 - factor) + weight * factor
        return torch.zeros_like(x).index_add(0, target, x[source] * scaled.unsqueeze(1))

    for factor in (1, 1.01):
        timed, inputs = with_backward(module, run, (case.features(), case.edge_weight(), factor))
        given = (case, module, timed, inputs, REFERENCES.update_all_u_mul_e_sum)
        if factor == 1:
            verify(*given, view=Rows(graph, 1, WIDTH))
        else:
            with pytest.raises(MismatchError, match="gradient of input tensor 1 is wrong"):
                verify(*given, view=Rows(graph, 1, WIDTH))


def test_only_large_graphs_are_sampled(graph):
    width = LARGE // graph.num_edges
    for name in ("spmm_sum", "spmm_max", "gcn_norm"):
        assert type(view_of(graph, width, OPERATIONS[name])) is View
    assert isinstance(view_of(graph, width + 1, OPERATIONS["spmm_sum"]), Projection)
    assert isinstance(view_of(graph, width + 1, OPERATIONS["spmm_max"]), Rows)
    assert type(view_of(graph, width + 1, OPERATIONS["gcn_norm"])) is View
    assert type(view_of(graph, width + 1, None)) is View


def test_the_sample_shrinks_with_its_entries(graph, monkeypatch):
    monkeypatch.setattr("gnnbench.workloads.view._SAMPLED_VALUES", 2000 * WIDTH)
    sample = Rows(graph, 2, WIDTH)
    assert sample.graph.num_edges <= 2000
    assert sample.graph.num_nodes < 3000


def test_a_reference_is_computed_once_for_equal_inputs(graph):
    calls = []

    def reference(graph, x):
        calls.append(x)
        return REFERENCES.spmm_sum(graph, x)

    kept = KeptReference()
    view = kept.view(graph, WIDTH, OPERATIONS["spmm_sum"])
    assert kept.view(graph, WIDTH, OPERATIONS["spmm_mean"]) is view
    x = torch.rand(3000, WIDTH, dtype=torch.float64)
    gradient = torch.rand(3000, WIDTH, dtype=torch.float64)
    for _ in range(2):
        kept.of(reference, view, [x.clone()], None, differentiate=False)
    assert len(calls) == 1
    for _ in range(2):
        kept.of(reference, view, [x.clone().requires_grad_()], gradient, differentiate=True)
    assert len(calls) == 2
    kept.of(reference, view, [x.clone()], None, differentiate=False)
    assert len(calls) == 2, "its output is there already"
    kept.of(reference, view, [x.clone().requires_grad_()], gradient + 1, differentiate=True)
    kept.of(reference, view, [x + 1], None, differentiate=False)
    assert len(calls) == 4
    other = replace(graph, edge_index=graph.edge_index[:, :-1])
    assert kept.view(other, WIDTH, OPERATIONS["spmm_sum"]) is not view
