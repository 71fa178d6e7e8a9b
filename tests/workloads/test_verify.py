"""What a kernel may get wrong is caught before it is timed, and what it gets right passes."""

from dataclasses import replace

import pytest
import torch

from gnnbench.workloads import gcn, platforms, training
from gnnbench.workloads import verify as verification
from gnnbench.workloads.operations import OPERATIONS, REFERENCES
from gnnbench.workloads.spec import FLOATS
from gnnbench.workloads.verify import TOLERANCE, MismatchError, tolerance, verify, with_backward


@pytest.fixture(scope="module")
def plain():
    return platforms.load("torch")


@pytest.fixture
def check(plain):
    """Verify a function of a case's inputs as the suite does."""

    def check(case, run, *inputs, expected=REFERENCES.spmm_sum, module=plain):
        if case.spec.direction == "forward_backward":
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


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("direction", ["forward", "forward_backward"])
def test_right_kernel_passes_where_a_node_is_isolated(make_case, check, direction, dtype):
    case = make_case(direction=direction, dtype=dtype)
    assert (torch.bincount(case.graph.edge_index[1], minlength=60) == 0).any()
    check(case, neighbours(case), case.features())
    check(case, neighbours(case, "mean"), case.features(), expected=REFERENCES.spmm_mean)


@pytest.mark.parametrize("direction", ["forward", "forward_backward"])
def test_right_kernel_passes_where_there_is_no_edge(make_case, check, small_graph, direction):
    empty = replace(small_graph, edge_index=small_graph.edge_index[:, :0])
    case = make_case(direction=direction, graph=empty)
    check(case, neighbours(case), case.features())
    weighted = neighbours(case)
    check(
        case,
        lambda x, weight: weighted(x) + weight.sum(),
        case.features(),
        case.edge_weight(),
        expected=REFERENCES.update_all_u_mul_e_sum,
    )


def test_sum_where_a_mean_is_due(make_case, check):
    case = make_case()
    with pytest.raises(MismatchError, match="output is wrong"):
        check(case, neighbours(case), case.features(), expected=REFERENCES.spmm_mean)


@pytest.mark.parametrize("what", ["edge", "self-loop"])
def test_missing_entry_of_a_matrix(make_case, check, what):
    case = make_case("add_remaining_self_loops", "pyg")
    module = platforms.load("pyg")
    graph, kernel = module.numbered_edges(case), OPERATIONS["add_remaining_self_loops"].kernel("pyg").run
    check(
        case,
        lambda w: kernel(graph, w),
        case.edge_weight(),
        expected=REFERENCES.add_remaining_self_loops,
        module=module,
    )

    def without_one(weight):
        edge_index, weight = kernel(graph, weight)
        keep = slice(1, None) if what == "edge" else slice(-1)
        return edge_index[:, keep], weight[keep]

    entries = case.graph.num_edges + 60
    with pytest.raises(MismatchError, match=rf"\({entries - 1} entries, reference {entries}\)"):
        check(
            case, without_one, case.edge_weight(), expected=REFERENCES.add_remaining_self_loops, module=module
        )


def test_missing_self_loops_of_a_convolution(make_case, check, plain):
    case = make_case("conv_cached")
    layer = plain.layer(*case.weights(8, 8), cached=True)
    without = plain.structure(case, normalized=True)
    with pytest.raises(MismatchError, match="output is wrong"):
        check(case, lambda layer, x: layer(without, x), layer, case.features(), expected=REFERENCES.conv)


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


@pytest.mark.parametrize(
    "wrong",
    [lambda output: output[:-1], lambda output: output.t(), lambda output: output.unsqueeze(0)],
)
def test_wrong_shape(make_case, check, wrong):
    case = make_case()
    run = neighbours(case)
    with pytest.raises(MismatchError, match=r"output has shape \(.*\), the reference \(60, 8\)"):
        check(case, lambda x: wrong(run(x)), case.features())


def test_other_device(make_case, check):
    case = make_case()
    with pytest.raises(MismatchError, match="the output is on meta, not on cpu"):
        check(case, lambda x: x.to("meta"), case.features())


def test_wrong_gradient_of_a_right_output(make_case, check):
    case = make_case(direction="forward_backward")
    run = neighbours(case)

    def doubled(x):
        output = run(x)
        return output.detach() + 2 * (output - output.detach())

    check(replace(case, spec=replace(case.spec, direction="forward")), doubled, case.features())
    with pytest.raises(MismatchError, match=r"gradient of input tensor 0 is wrong: largest error .* at"):
        check(case, doubled, case.features())


def test_missing_gradient_of_a_right_output(make_case, check):
    case = make_case(direction="forward_backward")
    source, target = case.edge_index()
    inputs, expected = (case.features(), case.edge_weight()), REFERENCES.update_all_u_mul_e_sum

    def run(x, weight):
        return torch.zeros_like(x).index_add(0, target, x[source] * weight.unsqueeze(1))

    check(case, run, *inputs, expected=expected)
    with pytest.raises(MismatchError, match="gradient of input tensor 1 is missing"):
        check(case, lambda x, weight: run(x, weight.detach()), *inputs, expected=expected)


@pytest.mark.parametrize("platform", ["pyg", "torch"])
def test_wrong_gradients_of_a_layers_parameters(make_case, check, platform):
    case = make_case("conv_cached", platform, "forward_backward")
    module = platforms.load(platform)
    kernel = OPERATIONS["conv_cached"].kernel(platform)
    structure = kernel.build(case)
    weight, bias = case.weights(8, 8)
    layer = module.layer(weight, bias, cached=True)
    expected = {"expected": REFERENCES.conv, "module": module}
    check(case, lambda layer, x: kernel.run(structure, layer, x), layer, case.features(), **expected)
    next(p for p in layer.parameters() if p.dim() > 1).register_hook(lambda gradient: gradient * 1.001)
    with pytest.raises(MismatchError, match="gradient of input tensor 0 is wrong"):
        check(case, lambda layer, x: kernel.run(structure, layer, x), layer, case.features(), **expected)


@pytest.mark.parametrize(("dtype", "inside"), [("float32", "bfloat16"), ("float64", "float32")])
@pytest.mark.parametrize("direction", ["forward", "forward_backward"])
def test_lower_precision_inside(make_case, check, direction, dtype, inside):
    case = make_case(direction=direction, dtype=dtype)
    run = neighbours(case)
    with pytest.raises(MismatchError, match="is wrong"):
        check(case, lambda x: run(x.to(getattr(torch, inside))).to(x.dtype), case.features())


def test_stale_gradients_do_not_add_up(make_case, plain):
    case = make_case(direction="forward_backward")
    x = case.features()
    run, inputs = with_backward(plain, neighbours(case), [x])
    run(*inputs)
    first = x.grad.clone()
    run(*inputs)
    assert torch.equal(x.grad, first)


def test_an_output_of_another_dtype_is_named(make_case, check):
    case = make_case()
    run = neighbours(case)
    with pytest.raises(MismatchError, match=r"the output is torch\.float64, not torch\.float32"):
        check(case, lambda x: run(x).double(), case.features())


@pytest.fixture
def epoch(plain, make_case):
    """An epoch's inputs on plain PyTorch, and its case."""

    def prepare(dtype="float32"):
        case = make_case("epoch", "torch", "train", dtype)
        t = training.prepare(case, plain, gcn.initial_weights(gcn.widths(case.graph, case.spec.hidden)))
        return case, (t.model, t.structure, t.x, t.train, t.y, t.optimizer)

    return prepare


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_epoch_without_its_step_is_caught(epoch, check, dtype):
    case, inputs = epoch(dtype)

    def no_step(model, structure, x, train, y, optimizer):
        optimizer.zero_grad()
        value = training.loss(model(structure, x), train, y)
        value.backward()
        return value

    with pytest.raises(MismatchError, match="parameter 0 after the step is wrong"):
        check(case, no_step, *inputs, expected=REFERENCES.epoch)


@pytest.mark.parametrize(("dtype", "factor"), [("float32", 0.99), ("bfloat16", 0.8), ("bfloat16", 0)])
@pytest.mark.parametrize("index", range(3))
def test_epoch_with_one_weight_s_gradient_scaled_is_caught(epoch, check, dtype, factor, index):
    case, inputs = epoch(dtype)

    def scaled(model, structure, x, train, y, optimizer):
        weight = model.layers[index].weight
        handle = weight.register_hook(lambda gradient: gradient * factor)
        value = training.epoch(model, structure, x, train, y, optimizer)
        handle.remove()
        return value

    with pytest.raises(MismatchError, match=f"gradient of input tensor {index} is wrong"):
        check(case, scaled, *inputs, expected=REFERENCES.epoch)


@pytest.mark.parametrize("dtype", FLOATS)
def test_rows_of_low_degree_left_out_are_caught(make_case, check, dtype):
    case = make_case(dtype=dtype)
    run, degree = neighbours(case), torch.bincount(case.graph.edge_index[1], minlength=60)
    with pytest.raises(MismatchError, match="output is wrong"):
        check(case, lambda x: run(x) * (degree > 2).unsqueeze(1), case.features())


def test_gradients_of_edges_in_the_wrong_order_are_caught(make_case, check):
    module = platforms.load("pyg")
    case = make_case("add_remaining_self_loops", "pyg", "forward_backward")
    kernel = OPERATIONS["add_remaining_self_loops"].kernel("pyg")

    class Flipped(torch.autograd.Function):
        @staticmethod
        def forward(_, weight):
            return weight.clone()

        @staticmethod
        def backward(_, gradient):
            return gradient.flip(0)

    with pytest.raises(MismatchError, match="gradient of input tensor 0 is wrong"):
        check(
            case,
            lambda graph, weight: kernel.run(graph, Flipped.apply(weight)),
            kernel.build(case),
            case.edge_weight(),
            expected=REFERENCES.add_remaining_self_loops,
            module=module,
        )


def test_parameters_of_three_dimensions_are_given_as_they_are(make_case, check):
    """Attention layers have such: only matrices are kept the other way round."""

    class Scaled(torch.nn.Module):
        def __init__(self, scale):
            super().__init__()
            self.scale = torch.nn.Parameter(scale)

        def forward(self, x):
            return x * self.scale[0]

    case, pyg = make_case(direction="forward_backward"), platforms.load("pyg")
    layer = Scaled(torch.linspace(1, 2, 8).view(1, 1, 8))
    check(
        case,
        lambda layer, x: layer(x),
        layer,
        case.features(),
        expected=lambda _, scale, x: x * scale[0],
        module=pyg,
    )


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
