"""What a kernel may get wrong is caught before it is timed; operations/ has more wrong kernels."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pytest
import torch

from gnnbench.suite import accuracy, platforms
from gnnbench.suite.accuracy import TOLERANCE, MismatchError, tolerance
from gnnbench.suite.backward import with_backward
from gnnbench.suite.operations import REFERENCES
from gnnbench.suite.spec import FLOATS, FORWARD_BACKWARD
from gnnbench.suite.verify import verify
from tests.graphs import needs_dgl
from tests.suite.cells import workload_of

BOTH = pytest.mark.parametrize("direction", ["forward", FORWARD_BACKWARD])


def check(case, run, *inputs, expected=REFERENCES.spmm_sum):
    """Verify a function of a case's inputs, of the features if none are given, as the suite does."""
    module, inputs = platforms.load("torch"), inputs or (case.features(),)
    if case.spec.direction == FORWARD_BACKWARD:
        run, inputs = with_backward(module, run, inputs)
    verify(case, module, run, inputs, expected)


def neighbours(case, reduce="sum"):
    source, target = case.edge_index()

    def run(x):
        index = target.unsqueeze(1).expand(-1, x.size(1))
        return torch.zeros_like(x).scatter_reduce(0, index, x[source], reduce, include_self=False)

    return run


def degree(case):
    return torch.bincount(case.graph.edge_index[1], minlength=60).unsqueeze(1)


def test_an_input_that_needs_no_gradient_may_have_none(make_case):
    """Of a mask of the features, for example, and of a parameter that nothing uses."""
    case = make_case(direction=FORWARD_BACKWARD)

    def masked(x, y):
        return x * (y > 0)

    check(case, masked, case.features(), case.features(), expected=lambda _, x, y: masked(x, y))

    def expected(_, x, y):
        return masked(x, y) + y - y.detach()

    with pytest.raises(MismatchError, match="the gradient of input tensor 1 is missing"):
        check(case, masked, case.features(), case.features(), expected=expected)


@pytest.mark.parametrize("dtype", FLOATS)
@BOTH
def test_right_kernel_passes_where_a_node_is_isolated(make_case, direction, dtype):
    case = make_case(direction=direction, dtype=dtype)
    assert (degree(case) == 0).any()
    check(case, neighbours(case))
    check(case, neighbours(case, "mean"), expected=REFERENCES.spmm_mean)


@BOTH
def test_right_kernel_passes_where_there_is_no_edge(make_case, small_graph, direction):
    edgeless = replace(small_graph, edge_index=torch.empty(2, 0, dtype=torch.int64))
    case = make_case(direction=direction, graph=edgeless)
    check(case, neighbours(case))
    weighted, inputs = neighbours(case), (case.features(), case.edge_weight())
    expected = REFERENCES.update_all_u_mul_e_sum
    check(case, lambda x, weight: weighted(x) + weight.sum(), *inputs, expected=expected)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda case, output: output / degree(case).clamp(min=1), "output is wrong"),
        (lambda case, output: output * (degree(case) > 2), "output is wrong"),
        (lambda _, output: output[:-1], r"output has shape \(59, 8\), the reference \(60, 8\)"),
        (lambda _, output: output.unsqueeze(0), r"output has shape \(1, 60, 8\), the reference \(60, 8\)"),
        (lambda _, output: output.to("meta"), "the output is on meta, not on cpu"),
        (lambda _, output: output.to(torch.int32), r"the output is torch\.int32, not torch\."),
    ],
    ids=["mean", "low degree empty", "a row less", "dimension", "device", "dtype"],
)
def test_a_wrong_output_is_found(make_case, wrong, message):
    for dtype in FLOATS:
        case = make_case(dtype=dtype)
        run = neighbours(case)
        with pytest.raises(MismatchError, match=message):
            check(case, lambda x, case=case, run=run: wrong(case, run(x)))


@pytest.mark.parametrize("value", [-7.0, float("nan"), float("inf")])
@pytest.mark.parametrize("at", [(0, 0), (37, 5), (59, 7)])
def test_one_wrong_entry_is_named(make_case, at, value):
    case = make_case()
    run, right = neighbours(case), float(REFERENCES.spmm_sum(case.graph, case.features().double())[at])

    def wrong(x):
        output = run(x)
        output[at] = value
        return output

    with pytest.raises(MismatchError) as caught:
        check(case, wrong)
    error = f"output is wrong: largest error {abs(value - right):.3g} at {at},"
    assert str(caught.value).startswith(error)
    assert f"and the reference is {right:.6g}; allowed " in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("dtype", "inside"), [("float32", torch.bfloat16), ("float64", torch.float32)])
@BOTH
def test_lower_precision_inside_is_found(make_case, direction, dtype, inside):
    case = make_case(direction=direction, dtype=dtype)
    run = neighbours(case)
    with pytest.raises(MismatchError, match="is wrong"):
        check(case, lambda x: run(x.to(inside)).to(x.dtype))


def test_a_graph_s_hubs_allow_the_rounding_of_their_sums(make_case, small_graph, monkeypatch):
    star = torch.arange(1, 60)
    edges = torch.stack((star, torch.zeros_like(star)))
    case = make_case(graph=replace(small_graph, edge_index=torch.cat((edges, edges.flip(0)), dim=1)))
    assert case.graph.max_degree == 59
    assert tolerance(case) == TOLERANCE["float32"]
    for roundoff, allowed in ((1e-3, 0.059), (1.0, 0.1)):
        monkeypatch.setitem(accuracy._UNIT_ROUNDOFF, "float32", roundoff)
        assert tolerance(case) == pytest.approx(allowed)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("platform", ["torch", "pyg", "sparse", "dgl"])
def test_the_rounding_of_terms_that_cancel_in_a_gradient_is_right(make_case, small_graph, platform, dtype):
    """Each node has one neighbour, so that every softmax is 1 and its gradient 0."""
    nodes = torch.arange(60)
    matching = replace(small_graph, edge_index=torch.stack((nodes.roll(1), nodes)))
    workload = workload_of(make_case("edge_softmax", platform, FORWARD_BACKWARD, dtype, graph=matching))
    workload.timed().verify()

    def leaking(run, graph, values, *others):
        changed = values.clone()
        changed.register_hook(lambda gradient: gradient + 1e-4)
        return run(graph, changed, *others)

    workload.must_be_found_wrong(leaking, "gradient of input tensor 0 is wrong")


def test_the_same_infinities_and_nans_agree_and_others_do_not(make_case):
    case, values = make_case(), torch.tensor([[-torch.inf, 1.0], [torch.nan, 2.0], [torch.inf, 3.0]])

    def check_with(at=(0, 1), value=1.0):
        found = values.clone()
        found[at] = value
        check(case, lambda _: found, expected=lambda *_: values.double())

    check_with()
    others = (((0, 0), torch.inf), ((0, 0), 0.0), ((1, 0), 0.0), ((2, 0), torch.nan), ((0, 1), 1.1))
    for at, value in others:
        with pytest.raises(MismatchError, match=rf"output is wrong: .* at \({at[0]}, {at[1]}\)"):
            check_with(at, value)


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


@dataclass
class Named:
    here: torch.Tensor
    there: torch.Tensor


@BOTH
@pytest.mark.parametrize(
    "make",
    [
        lambda one, other: [one, {"deep": (other,)}],
        Pair,
        Named,
        lambda one, other: {"all": (one, other), "none": None, "count": 3, "mean": 0.5, "empty": []},
    ],
    ids=["nested", "named tuple", "dataclass", "plain values"],
)
def test_outputs_of_several_parts_are_compared_by_place(make_case, make, direction):
    case = make_case(direction=direction)

    def check_against(expected):
        check(case, lambda x: make(2 * x, x * x), expected=lambda _graph, x: expected(x))

    check_against(lambda x: make(2 * x, x * x))
    with pytest.raises(MismatchError, match=r"output[\[.].* is wrong"):
        check_against(lambda x: make(2 * x, x * x + 1))
    with pytest.raises(MismatchError, match=r"the (reference|output) lacks output[\[.]"):
        check_against(lambda x: {"other": x})


@pytest.mark.parametrize(
    ("found", "right", "told"),
    [
        ({"a": True}, {"a": 1}, r"output\['a'\] is True, and the reference is 1$"),
        ([1.0], [1.1], r"output\[0\] is 1.0, and the reference is 1.1$"),
        ([100_000], [100_001], r"output\[0\] is 100000, and the reference is 100001$"),
        ({"a": []}, {"a": None}, r"output\['a'\] is \(\), and the reference is None$"),
        ([np.ones(3)], [np.ones((3, 3))], r"output\[0\] is an array \[3\] of float64, and"),
        ([torch.ones(3)], [torch.ones(3).to_sparse()], r"\[0\] is strided, and the reference is sparse"),
        ([object()], [None], r"output\[0\] is a builtins.object, which cannot be compared: pass measure"),
    ],
)
def test_parts_that_differ_or_cannot_be_compared_are_named(make_case, found, right, told):
    with pytest.raises(MismatchError, match=told):
        check(make_case(), lambda _: found, expected=lambda *_: right)
    check(make_case(), lambda _: [math.nan, 1.0], expected=lambda *_: [math.nan, 1.00001])


@needs_dgl
def test_graphs_and_arrays_are_opened(make_case):
    platforms.load("dgl")  # without GraphBolt, which has no build for this PyTorch
    import dgl
    from torch_geometric.data import Data

    case = make_case()
    edges = case.edge_index()

    def graphs(x, more=0):
        found = dgl.graph(tuple(edges), num_nodes=60)
        found.ndata["x"], found.edata["w"] = x, x[edges[0]] + more
        return {"dgl": [found], "pyg": Data(x=x, edge_index=edges), "numpy": x.detach().numpy()}

    check(case, graphs, expected=lambda _, x: graphs(x))
    with pytest.raises(MismatchError, match=r"output\['dgl'\]\[0\].edata\['w'\] is wrong"):
        check(case, graphs, expected=lambda _, x: graphs(x, 1))


@BOTH
@pytest.mark.parametrize("pack", [lambda x, y: [x, {"y": y}], Pair], ids=["nested", "named"])
def test_containers_of_tensors_reach_a_reference_that_has_a_place_for_them(make_case, pack, direction):
    """With other types as they are; a view of a tensor becomes a leaf."""
    case = make_case(direction=direction)
    source, target = case.edge_index()

    def run(pair):
        x, y = (pair[0], pair[1]["y"]) if isinstance(pair, list) else pair
        return torch.cat((y, y)).index_add(0, target % 40, x[source])

    def expected(_graph, pair):
        assert {one.dtype for one in torch.utils._pytree.tree_leaves(pair)} == {torch.float64}
        return run(pair)

    check(case, run, pack(case.features(), case.features()[:20]), expected=expected)
    with pytest.raises(MismatchError, match=r"output is wrong|gradient of input tensor 0 is wrong"):
        check(case, run, pack(case.features(), case.features()[:20]), expected=lambda _, pair: 2 * run(pair))


@BOTH
@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_csc, torch.sparse_coo])
def test_sparse_inputs_reach_a_reference_that_has_a_place_for_them(make_case, layout, direction):
    case = make_case(direction=direction)
    pointer, column, values = case.csr()
    matrix = torch.sparse_csr_tensor(pointer.int(), column.int(), values, (60, 60))
    if layout == torch.sparse_csc and case.requires_grad:
        pytest.skip("PyTorch keeps no gradient in this layout")
    inputs = matrix.to_sparse(layout=layout).requires_grad_(case.requires_grad), case.features()

    def product(matrix, x):
        return matrix @ x if layout != torch.sparse_csc else matrix.to_dense() @ x

    def expected(_graph, matrix, x):
        assert (matrix.dtype, matrix.layout) == (torch.float64, layout)
        return matrix.to_dense() @ x

    check(case, product, *inputs, expected=expected)
    check(case, lambda a, x: product(a.detach(), x), *inputs, expected=REFERENCES.spmm_sum)
    with pytest.raises(MismatchError, match="output is wrong"):
        check(case, product, *inputs, expected=lambda _, matrix, x: 1.01 * (matrix.to_dense() @ x))
    if case.requires_grad:
        with pytest.raises(MismatchError, match="gradient of input tensor 0 is wrong"):
            check(case, lambda a, x: product(a * 2, x) - product(a.detach(), x), *inputs, expected=expected)


@BOTH
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_are_inputs_and_outputs(make_case, layout, direction):
    case = make_case(direction=direction)
    rows = list(case.features().detach().split([10, 20, 30]))

    def inputs():
        return torch.nested.nested_tensor(rows, layout=layout, requires_grad=case.requires_grad)

    check(case, lambda x: x * 2, inputs(), expected=lambda _, x: x * 2)
    with pytest.raises(MismatchError, match=r"output\[0\] is wrong"):
        check(case, lambda x: x * 2, inputs(), expected=lambda _, x: x * 3)
    if direction == FORWARD_BACKWARD:
        with pytest.raises(MismatchError, match="gradient of input tensor 0 is wrong"):
            check(case, lambda x: x * 1 + x.detach(), inputs(), expected=lambda _, x: x * 2)


@BOTH
@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_coo])
def test_sparse_outputs_are_compared_with_sparse_references(make_case, layout, direction):
    case = make_case(direction=direction)

    def run(x):
        return x.relu().to_sparse(layout=layout)

    check(case, run, expected=lambda _, x: run(x))
    check(case, lambda x: [run(x), 2 * x], expected=lambda _, x: [run(x), 2 * x])
    with pytest.raises(MismatchError, match="output is wrong"):
        check(case, run, expected=lambda _, x: run(2 * x))
    name = str(layout).removeprefix("torch.")
    with pytest.raises(
        MismatchError, match=f"output is {name}, and the reference is strided: return the same"
    ):
        check(case, run, expected=lambda _, x: x.relu())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@BOTH
def test_complex_numbers_are_compared_in_both_parts(make_case, direction, dtype):
    case = make_case(direction=direction, dtype=dtype)
    kind = case.dtype.to_complex()

    def inputs():
        return torch.complex(*case.features().detach().split(4, dim=1)).requires_grad_(case.requires_grad)

    def run(x):
        return torch.fft.fft(x, dim=0)

    check(case, run, inputs(), expected=lambda _, x: run(x))
    check(case, lambda x: (run(x), x * 2), expected=lambda _, x: (run(x), x * 2))
    for wrong in (lambda x: x.conj(), lambda x: x + 0.1j, lambda x: x.real.to(kind)):
        with pytest.raises(MismatchError, match=r"output is wrong: .* where it is \S+j and the reference"):
            check(case, lambda x, wrong=wrong: wrong(run(x)), inputs(), expected=lambda _, x: run(x))
    with pytest.raises(MismatchError, match=rf"the output is torch.{dtype}, not {kind}"):
        check(case, lambda x: run(x).real.clone(), expected=lambda _, x: run(x))
    with pytest.raises(MismatchError, match=rf"the output is {kind}, not torch.{dtype}"):
        check(case, run, expected=lambda _, x: x)
    if direction == FORWARD_BACKWARD:
        with pytest.raises(MismatchError, match="gradient of input tensor 0 is wrong"):
            check(case, lambda x: x.real + 1j * x.imag.detach(), inputs(), expected=lambda _, x: x * 1)


def test_integers_are_compared_exactly_also_with_other_numbers(make_case):
    check(make_case(), lambda x: x > 0, expected=lambda _, x: x > 0)
    check(make_case(), lambda x: (x > 0).float(), expected=lambda _, x: x > 0)
    for wrong in (0.5, 1 + 1j):
        with pytest.raises(MismatchError, match=r"output is wrong at .*; \d+ of 480 values differ"):
            check(make_case(), lambda x, wrong=wrong: (x > 0) * wrong, expected=lambda _, x: x > 0)


@pytest.mark.parametrize("run", [torch.no_grad()(lambda x: x * 2), lambda x: x > 0, lambda x: [x.detach()]])
def test_an_output_without_a_gradient_has_no_backward_pass(make_case, run):
    with pytest.raises(MismatchError, match=r"no part of the output requires a gradient, .* directions="):
        check(make_case(direction=FORWARD_BACKWARD), run)


@pytest.mark.parametrize(
    ("run", "expected", "told"),
    [
        (
            lambda x: (x * 2, None),
            lambda x: (x * 2, x),
            r"output\[1\] is None, and the reference is a tensor \[60, 8\]",
        ),
        (lambda x: x * 2, lambda x: x.detach() * 2, "reference: its output requires no gradient"),
        (lambda x: x * 2, lambda _: object(), "reference: output is a builtins.object"),
    ],
)
def test_outputs_are_compared_before_gradients_are_made(make_case, run, expected, told):
    with pytest.raises(MismatchError, match=told) as caught:
        check(make_case(direction=FORWARD_BACKWARD), run, expected=lambda _, x: expected(x))
    assert "\n" not in str(caught.value)


def test_a_part_that_only_the_reference_can_differentiate_gets_no_gradient(make_case):
    case = make_case(direction=FORWARD_BACKWARD)
    check(case, lambda x: (x.detach() * 3, x * 2), expected=lambda _, x: (x * 3, x * 2))


def test_a_reference_of_other_arguments_is_told_what_it_gets(make_case):
    with pytest.raises(MismatchError, match=r"the reference must take the graph and the 1 inputs that .*'y'"):
        check(make_case(), lambda x: x, expected=lambda _graph, x, y: x + y)


def test_a_call_that_draws_random_numbers_is_told_so(make_case):
    with pytest.raises(MismatchError, match=r"is wrong.*; the call draws random numbers: seed the call"):
        check(make_case(), torch.nn.functional.dropout, expected=lambda _, x: x)


def greatest(x, shift=0):
    """Return the maximum over rows; its gradient goes to the last of equal ones, or to the row after that."""
    changed = x.clone()
    changed.register_hook(lambda gradient: gradient.roll(shift, 0))
    return changed.flip(0).max(0)[0]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize(
    "reference", [lambda x: x.amax(0), lambda x: x.max(0)[0], lambda x: -((-x).min(0)[0])]
)
def test_the_gradient_of_a_maximum_may_go_to_any_of_equal_entries(make_case, dtype, reference):
    case = make_case(direction=FORWARD_BACKWARD, dtype=dtype)
    x = case.tensor((case.features().detach() * 2).round())
    assert ((x == x.amax(0)).sum(0) > 1).all()
    for run in (greatest, lambda x: x.amax(0), lambda x: x.max(0)[0]):
        check(
            case,
            lambda x, run=run: torch.cat((run(x), run(-x))),
            x,
            expected=lambda _, x: torch.cat((reference(x), reference(-x))),
        )
    distinct = case.tensor(torch.arange(480.0).view(60, 8) % 61)
    for wrong in (lambda x: greatest(x, 1), lambda x: x.amax(0) * 2 - x.amax(0).detach()):
        with pytest.raises(MismatchError, match="gradient of input tensor 1 is wrong"):
            check(
                case,
                lambda x, y, wrong=wrong: greatest(x) + wrong(y),
                x,
                distinct,
                expected=lambda _, x, y: reference(x) + reference(y),
            )
