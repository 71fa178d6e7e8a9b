"""On a large graph a projection or a sample finds what the comparison of all entries finds."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gnnbench.suite.accuracy import MismatchError
from gnnbench.suite.graphs.graph import Graph
from gnnbench.suite.kept_reference import Expected, KeptReference
from gnnbench.suite.operations import OPERATIONS, REFERENCES
from gnnbench.suite.view import LARGE, Projection, Rows, View, view_of
from tests.suite.cells import Workload

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
    monkeypatch.setattr("gnnbench.suite.view.SAMPLED_ROWS", 512)
    return Rows(graph, 1, WIDTH)


@pytest.fixture
def check(view, graph, make_case):
    """Verify a function of x and edge_index against the sum over neighbours."""

    def check(run, direction="forward", dtype="float32"):
        case = make_case(graph=graph, direction=direction, dtype=dtype, hidden=WIDTH)
        Workload(case, run, (case.edge_index(), case.features()), None).timed().verify(view)

    return check


def sums(edge_index, x):
    return torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("direction", ["forward", "forward_backward"])
def test_a_right_kernel_passes(check, direction, dtype):
    check(sums, direction, dtype)


def degrees(edge_index, x):
    return edge_index[1].bincount(minlength=len(x)).unsqueeze(1)


MUTANTS = {
    "without a column": lambda e, x: sums(e, x * (torch.arange(WIDTH) < WIDTH - 1)),
    "without every tenth entry": lambda e, x: sums(e[:, torch.arange(e.size(1)) % 10 > 0], x),
    "without the hub": lambda e, x: sums(e[:, e[1] != 17], x),
    "rows of low degree empty": lambda e, x: sums(e, x) * (degrees(e, x) > 2),
    "in the wrong order": lambda e, x: sums(e, x).roll(1, dims=0),
    "columns in the wrong order": lambda e, x: sums(e, x).roll(1, dims=1),
    "means": lambda e, x: sums(e, x) / degrees(e, x).clamp(min=1),
    "scaled": lambda e, x: 1.001 * sums(e, x),
    "in bfloat16": lambda e, x: sums(e, x.bfloat16()).to(x.dtype),
    "nan": lambda e, x: sums(e, x).masked_fill(sums(e, x) > 3, torch.nan),
    # The last row is always in the sample.
    "one entry": lambda e, x: sums(e, x) + (torch.arange(x.numel()) == x.numel() - 1).view_as(x),
    "every other entry twice": lambda e, x: sums(e[:, torch.arange(e.size(1)) % 2 > 0].repeat(1, 2), x),
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


def test_a_gradient_outside_the_sample_is_found(graph, make_case, monkeypatch):
    monkeypatch.setattr("gnnbench.suite.view.SAMPLED_ROWS", 4)
    case = make_case(graph=graph, direction="forward_backward", hidden=WIDTH)

    def run(edge_index, x):
        x.register_hook(lambda gradient: gradient + 1e-3)
        return sums(edge_index, x)

    workload = Workload(case, run, (case.edge_index(), case.features()), None).timed()
    with pytest.raises(MismatchError, match="is not zero where the output does not depend on the input"):
        workload.verify(Rows(graph, 1, WIDTH))


def test_a_wrong_gradient_of_weights_by_entry_is_found(graph, make_case):
    case = make_case("update_all_u_mul_e_sum", graph=graph, direction="forward_backward", hidden=WIDTH)
    source, target = case.edge_index()

    def check_with(factor):
        def run(x, weight):
            scaled = weight.detach() * (1 - factor) + weight * factor
            return torch.zeros_like(x).index_add(0, target, x[source] * scaled.unsqueeze(1))

        workload = Workload(case, run, (case.features(), case.edge_weight()), None)
        workload.timed().verify(Rows(graph, 1, WIDTH))

    check_with(1)
    with pytest.raises(MismatchError, match="gradient of input tensor 1 is wrong"):
        check_with(1.01)


def test_only_large_graphs_are_sampled(graph, monkeypatch):
    width = LARGE // graph.num_edges
    operations = [OPERATIONS[name] for name in ("spmm_sum", "spmm_max", "gcn_norm")]
    assert [type(view_of(graph, width, one)) for one in operations] == [View] * 3
    kinds = [type(view_of(graph, width + 1, one)) for one in (*operations, None)]
    assert kinds == [Projection, Rows, View, View]
    # The sample shrinks with its entries.
    monkeypatch.setattr("gnnbench.suite.view._SAMPLED_VALUES", 2000 * WIDTH)
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
    x, gradient = torch.rand(2, 3000, WIDTH, dtype=torch.float64)

    def calls_after(more=0, gradient=None):
        given = (x + more).requires_grad_(gradient is not None)
        upstream = None if gradient is None else {"": gradient}
        assert kept.of(Expected(reference, view, [given], upstream, gradient is not None)).outputs
        return len(calls)

    assert [calls_after() for _ in range(2)] == [1, 1]
    assert [calls_after(gradient=gradient) for _ in range(2)] == [2, 2]
    assert calls_after() == 2, "its output is there already"
    assert calls_after(gradient=gradient + 1) == 3
    assert calls_after(more=1) == 4
    other = replace(graph, edge_index=graph.edge_index[:, :-1])
    assert kept.view(other, WIDTH, OPERATIONS["spmm_sum"]) is not view
