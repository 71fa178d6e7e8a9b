"""What a kernel may get wrong is caught before it is timed, and what it gets right passes."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pytest
import torch

from gnnbench.workloads import platforms
from gnnbench.workloads import verify as verification
from gnnbench.workloads.operations import OPERATIONS, REFERENCES
from gnnbench.workloads.spec import FLOATS, FORWARD_BACKWARD
from gnnbench.workloads.verify import TOLERANCE, MismatchError, tolerance, verify, with_backward
from tests.workloads.cells import workload_of

BOTH = pytest.mark.parametrize("direction", ["forward", FORWARD_BACKWARD])


@pytest.fixture(scope="module")
def plain():
    return platforms.load("torch")


@pytest.fixture
def check(plain):
    """Verify a function of a case's inputs as the suite does."""

    def check(case, run, *inputs, expected=REFERENCES.spmm_sum, module=plain):
        if case.spec.direction == FORWARD_BACKWARD:
            run, inputs = with_backward(module, run, inputs)
        verify(case, module, run, inputs, expected)

    return check


def neighbours(case, reduce="sum"):
    """Return a kernel that reduces over neighbours."""
    source, target = case.edge_index()

    def run(x):
        index = target.unsqueeze(1).expand(-1, x.size(1))
        return torch.zeros_like(x).scatter_reduce(0, index, x[source], reduce, include_self=False)

    return run


def degree(case):
    return torch.bincount(case.graph.edge_index[1], minlength=60).unsqueeze(1)


@pytest.mark.parametrize("dtype", FLOATS)
@BOTH
def test_right_kernel_passes_where_a_node_is_isolated(make_case, check, direction, dtype):
    case = make_case(direction=direction, dtype=dtype)
    assert (degree(case) == 0).any()
    check(case, neighbours(case), case.features())
    check(case, neighbours(case, "mean"), case.features(), expected=REFERENCES.spmm_mean)


@BOTH
def test_right_kernel_passes_where_there_is_no_edge(make_case, check, small_graph, direction):
    empty = replace(small_graph, edge_index=small_graph.edge_index[:, :0])
    case = make_case(direction=direction, graph=empty)
    check(case, neighbours(case), case.features())
    weighted, inputs = neighbours(case), (case.features(), case.edge_weight())
    expected = REFERENCES.update_all_u_mul_e_sum
    check(case, lambda x, weight: weighted(x) + weight.sum(), *inputs, expected=expected)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda case, output: output / degree(case).clamp(min=1), "output is wrong"),
        (lambda case, output: output * (degree(case) > 2), "output is wrong"),
        (lambda _, output: output[:-1], r"output has shape \(59, 8\), the reference \(60, 8\)"),
        (lambda _, output: output.t(), r"output has shape \(8, 60\), the reference \(60, 8\)"),
        (lambda _, output: output.unsqueeze(0), r"output has shape \(.*\), the reference \(60, 8\)"),
        (lambda _, output: output.to("meta"), "the output is on meta, not on cpu"),
        (lambda _, output: output.to(torch.float16), r"the output is torch\.float16, not torch\."),
    ],
    ids=["mean", "low degree empty", "a row less", "transposed", "dimension", "device", "dtype"],
)
def test_a_wrong_output_is_found(make_case, check, wrong, message):
    for dtype in FLOATS:
        case = make_case(dtype=dtype)
        run = neighbours(case)
        with pytest.raises(MismatchError, match=message):
            check(case, lambda x, case=case, run=run: wrong(case, run(x)), case.features())


@pytest.mark.parametrize("value", [-7.0, float("nan"), float("inf")])
@pytest.mark.parametrize("at", [(0, 0), (37, 5), (59, 7)])
def test_one_wrong_entry_is_named(make_case, check, at, value):
    case = make_case()
    run, x = neighbours(case), case.features()
    right = float(REFERENCES.spmm_sum(case.graph, x.double())[at])

    def wrong(x):
        output = run(x)
        output[at] = value
        return output

    with pytest.raises(MismatchError) as caught:
        check(case, wrong, x)
    message = str(caught.value)
    assert message.startswith(
        f"{case.spec.id}: output is wrong: largest error {abs(value - right):.3g} at {at},"
    )
    assert f"and the reference is {right:.6g}" in message
    assert "; allowed " in message
    assert "\n" not in message


def test_a_missing_entry_of_a_matrix_is_found(make_case):
    case = make_case("add_remaining_self_loops", "pyg")
    entries = case.graph.num_edges + 60
    for keep in (slice(1, None), slice(-1)):  # without an edge, and without a self-loop

        def without_one(run, graph, weight, keep=keep):
            edge_index, weight = run(graph, weight)
            return edge_index[:, keep], weight[keep]

        message = rf"\({entries - 1} entries, reference {entries}\)"
        workload_of(case).must_be_found_wrong(without_one, message)


def test_missing_self_loops_of_a_convolution_are_found(make_case, plain):
    case = make_case("conv_cached")
    without = plain.structure(case, normalized=True)
    workload_of(case).must_be_found_wrong(lambda _, _graph, layer, x: layer(without, x), "output is wrong")


def test_a_wrong_gradient_of_a_right_output_is_found(make_case, check):
    case = make_case(direction=FORWARD_BACKWARD)
    run = neighbours(case)

    def doubled(x):
        output = run(x)
        return output.detach() + 2 * (output - output.detach())

    check(replace(case, spec=replace(case.spec, direction="forward")), doubled, case.features())
    with pytest.raises(MismatchError, match=r"gradient of input tensor 0 is wrong: largest error .* at"):
        check(case, doubled, case.features())


def test_a_missing_gradient_of_a_right_output_is_found(make_case):
    workload = workload_of(make_case("update_all_u_mul_e_sum", "dgl", FORWARD_BACKWARD))
    workload.must_be_found_wrong(
        lambda run, graph, x, weight: run(graph, x, weight.detach()), "gradient of input tensor 1 is missing"
    )


@pytest.mark.parametrize("platform", ["pyg", "torch"])
def test_a_wrong_gradient_of_a_layer_s_parameter_is_found(make_case, platform):
    def scaled(run, structure, layer, x):
        next(p for p in layer.parameters() if p.dim() > 1).register_hook(lambda gradient: gradient * 1.001)
        return run(structure, layer, x)

    workload = workload_of(make_case("conv_cached", platform, FORWARD_BACKWARD))
    workload.must_be_found_wrong(scaled, "gradient of input tensor 0 is wrong")


@pytest.mark.parametrize(("dtype", "inside"), [("float32", "bfloat16"), ("float64", "float32")])
@BOTH
def test_lower_precision_inside_is_found(make_case, check, direction, dtype, inside):
    case = make_case(direction=direction, dtype=dtype)
    run = neighbours(case)
    with pytest.raises(MismatchError, match="is wrong"):
        check(case, lambda x: run(x.to(getattr(torch, inside))).to(x.dtype), case.features())


def test_stale_gradients_do_not_add_up(make_case, plain):
    case = make_case(direction=FORWARD_BACKWARD)
    x = case.features()
    run, inputs = with_backward(plain, neighbours(case), [x])
    run(*inputs)
    first = x.grad.clone()
    run(*inputs)
    assert torch.equal(x.grad, first)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_epoch_without_its_step_is_found(make_case, dtype):
    def no_step(run, *inputs):
        inputs[-1].step = lambda: None
        return run(*inputs)

    workload = workload_of(make_case("epoch", "torch", "train", dtype))
    workload.must_be_found_wrong(no_step, "parameter 0 after the step is wrong")


@pytest.mark.parametrize(("dtype", "factor"), [("float32", 0.99), ("bfloat16", 0.8), ("bfloat16", 0)])
@pytest.mark.parametrize("index", range(3))
def test_an_epoch_with_one_weight_s_gradient_scaled_is_found(make_case, dtype, factor, index):
    def scaled(run, model, *inputs):
        handle = model.layers[index].weight.register_hook(lambda gradient: gradient * factor)
        value = run(model, *inputs)
        handle.remove()
        return value

    workload = workload_of(make_case("epoch", "torch", "train", dtype))
    workload.must_be_found_wrong(scaled, f"gradient of input tensor {index} is wrong")


def test_gradients_of_edges_in_the_wrong_order_are_found(make_case):
    class Flipped(torch.autograd.Function):
        @staticmethod
        def forward(_, weight):
            return weight.clone()

        @staticmethod
        def backward(_, gradient):
            return gradient.flip(0)

    workload = workload_of(make_case("add_remaining_self_loops", "pyg", FORWARD_BACKWARD))
    workload.must_be_found_wrong(
        lambda run, graph, weight: run(graph, Flipped.apply(weight)), "gradient of input tensor 0 is wrong"
    )


def test_parameters_of_three_dimensions_are_given_as_they_are(make_case, check):
    """Attention layers have such: only matrices are kept the other way round."""

    class Scaled(torch.nn.Module):
        def __init__(self, scale):
            super().__init__()
            self.scale = torch.nn.Parameter(scale)

        def forward(self, x):
            return x * self.scale[0]

    case, module = make_case(direction=FORWARD_BACKWARD), platforms.load("pyg")
    inputs = Scaled(torch.linspace(1, 2, 8).view(1, 1, 8)), case.features()
    expected = {"expected": lambda _, scale, x: x * scale[0], "module": module}
    check(case, lambda layer, x: layer(x), *inputs, **expected)


def test_a_large_graph_s_hubs_allow_the_rounding_of_their_sums(make_case, small_graph, monkeypatch):
    star = torch.arange(1, 60)
    hub = torch.zeros_like(star)
    edges = torch.cat((torch.stack((star, hub)), torch.stack((hub, star))), dim=1)
    case = make_case(graph=replace(small_graph, edge_index=edges))
    assert case.graph.max_degree == 59
    assert tolerance(case) == TOLERANCE["float32"]
    monkeypatch.setattr(verification, "LARGE", 0)
    assert tolerance(case) == TOLERANCE["float32"]
    monkeypatch.setitem(verification._UNIT_ROUNDOFF, "float32", 1e-3)
    assert tolerance(case) == pytest.approx(0.059)
    monkeypatch.setitem(verification._UNIT_ROUNDOFF, "float32", 1.0)
    assert tolerance(case) == 0.1


@pytest.fixture(scope="module")
def matching(small_graph):
    """Each node has one neighbour, so that every softmax is 1 and its gradient 0."""
    nodes = torch.arange(60)
    return replace(small_graph, edge_index=torch.stack((nodes.roll(1), nodes)))


@pytest.fixture(scope="module")
def edgeless(small_graph):
    return replace(small_graph, edge_index=torch.empty(2, 0, dtype=torch.int64))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("platform", ["torch", "pyg", "sparse", "dgl"])
def test_gradients_whose_terms_cancel_are_right_within_the_rounding_of_the_terms(
    make_case, matching, platform, dtype
):
    case = make_case("edge_softmax", platform, FORWARD_BACKWARD, dtype, graph=matching)
    workload = workload_of(case)
    workload.timed().verify()

    class Leaking(torch.autograd.Function):
        @staticmethod
        def forward(_, values):
            return values.clone()

        @staticmethod
        def backward(_, gradient):
            return gradient + 1e-4

    def leaking(run, graph, values, *others):
        return run(graph, Leaking.apply(values), *others)

    workload.must_be_found_wrong(leaking, "gradient of input tensor 0 is wrong")


@pytest.mark.parametrize(
    ("operation", "platform"),
    [
        (name, platform)
        for name in ("gat_conv", "gatv2_conv", "transformer_conv")
        for platform in OPERATIONS[name].calls
    ],
)
def test_attention_over_no_other_node_passes(make_case, edgeless, operation, platform):
    workload_of(make_case(operation, platform, FORWARD_BACKWARD, graph=edgeless)).timed().verify()


def test_the_same_infinities_and_nans_agree_and_others_do_not(make_case, check):
    case, values = make_case(), torch.tensor([[-torch.inf, 1.0], [torch.nan, 2.0], [torch.inf, 3.0]])

    def given(*changes):
        found = values.clone()
        for row, value in changes:
            found[row, 0] = value
        return lambda _: found

    def right(_graph, _x):
        return values.double()

    check(case, given(), case.features(), expected=right)
    for row, value in ((0, torch.inf), (0, 0.0), (1, 0.0), (2, torch.nan)):
        with pytest.raises(MismatchError, match=rf"output is wrong: .* at \({row}, 0\)"):
            check(case, given((row, value)), case.features(), expected=right)
    with pytest.raises(MismatchError, match=r"output is wrong: .* at \(0, 1\)"):
        check(case, lambda _: values + torch.tensor([0.0, 0.1]), case.features(), expected=right)


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
        lambda one, other: {"paper": one, "author": other},
        lambda one, other: [one, {"deep": (other,)}],
        lambda one, other: (one, other),
        Pair,
        Named,
        lambda one, other: {"all": (one, other), "none": None, "count": 3, "mean": 0.5, "empty": []},
    ],
    ids=["dict", "nested", "tuple", "named tuple", "dataclass", "plain values"],
)
def test_outputs_of_several_parts_are_compared_by_place(make_case, check, make, direction):
    case = make_case(direction=direction)

    def run(x):
        return make(2 * x, x * x)

    def right(_graph, x):
        return make(2 * x, x * x)

    def wrong(_graph, x):
        return make(2 * x, x * x + 1)

    check(case, run, case.features(), expected=right)
    with pytest.raises(MismatchError, match=r"output[\[.].* is wrong"):
        check(case, run, case.features(), expected=wrong)
    with pytest.raises(MismatchError, match=r"the (reference|output) lacks output[\[.]"):
        check(case, run, case.features(), expected=lambda _graph, x: {"other": x})


def test_parts_that_differ_or_cannot_be_compared_are_named(make_case, check):
    case = make_case()
    for found, right, told in (
        ({"a": None}, {"a": 1}, r"output\['a'\] is None, and the reference is 1$"),
        ({"a": "text"}, {"a": "other"}, r"output\['a'\] is 'text', and the reference is 'other'$"),
        ([1.0], [1.1], r"output\[0\] is 1.0, and the reference is 1.1$"),
        ([100_000], [100_001], r"output\[0\] is 100000, and the reference is 100001$"),
        ({"a": []}, {"a": None}, r"output\['a'\] is \(\), and the reference is None$"),
        ([np.ones(3)], [np.ones((3, 3))], r"output\[0\] is array"),
        (
            [torch.ones(3)],
            [torch.ones(3).to_sparse()],
            r"output\[0\] is strided, and the reference is sparse",
        ),
        ([object()], [None], r"output\[0\] is a builtins.object, which cannot be compared: give measure"),
    ):
        with pytest.raises(MismatchError, match=told):
            check(case, lambda _, found=found: found, case.features(), expected=lambda *_, right=right: right)
    check(case, lambda _: [math.nan, 1.0], case.features(), expected=lambda *_: [math.nan, 1.00001])


def test_a_matrix_in_an_output_is_compared_by_its_entries(make_case, check):
    sparse = pytest.importorskip("torch_sparse")
    case = make_case()
    row, column, weight = torch.tensor([0, 1, 1]), torch.tensor([1, 0, 2]), torch.tensor([1.0, 2.0, 3.0])

    def right(_graph, _x):
        return {"adj": torch.sparse_coo_tensor(torch.stack((row, column)), weight.double(), (3, 3))}

    def matrix(values):
        return lambda _: {"adj": sparse.SparseTensor(row=row, col=column, value=values, sparse_sizes=(3, 3))}

    check(case, matrix(weight), case.features(), expected=right)
    with pytest.raises(MismatchError, match=r"output\['adj'\] is wrong"):
        check(case, matrix(weight + 1), case.features(), expected=right)


def test_graphs_and_arrays_are_opened(make_case, check):
    import dgl
    from torch_geometric.data import Data

    case = make_case()
    edges = case.edge_index()

    def graph(x):
        found = dgl.graph(tuple(edges), num_nodes=60)
        found.ndata["x"], found.edata["w"] = x, x[edges[0]]
        return {"dgl": [found], "pyg": Data(x=x, edge_index=edges), "numpy": x.detach().numpy()}

    def right(_graph, x):
        return graph(x)

    check(case, graph, case.features(), expected=right)

    def other(_graph, x):
        found = graph(x)
        found["dgl"][0].edata["w"] += 1
        return found

    with pytest.raises(MismatchError, match=r"output\['dgl'\]\[0\].edata\['w'\] is wrong"):
        check(case, graph, case.features(), expected=other)
