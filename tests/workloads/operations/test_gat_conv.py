"""A wrong attention layer is found, and rounding never decides the gradient of LeakyReLU."""

import pytest
import torch
from torch.func import functional_call

from gnnbench.workloads import platforms
from gnnbench.workloads.least_work import Work
from gnnbench.workloads.operations import OPERATIONS
from gnnbench.workloads.operations.gat_conv import features, gat_parameters, gatv2_parameters
from gnnbench.workloads.roofline import least
from gnnbench.workloads.verify import MismatchError, verify, with_backward
from tests.workloads.test_least_work import make_graph


def apply(graph, layer, x):
    return layer(x, graph)


def exchanged(graph, layer, x):
    """Take the parameter of one end for that of the other."""
    one, other = ("att_src", "att_dst") if hasattr(layer, "att_src") else ("lin_l.weight", "lin_r.weight")
    names = {one: layer.get_parameter(other), other: layer.get_parameter(one)}
    return functional_call(layer, names, (x, graph))


def without_attention(graph, layer, x):
    """Weigh all neighbours alike."""
    zeros = {name: one * 0 for name, one in layer.named_parameters() if name.startswith("att")}
    return functional_call(layer, zeros, (x, graph))


def with_attribute(name, value):
    def run(graph, layer, x):
        setattr(layer, name, value)
        return layer(x, graph)

    return run


WRONG = {
    "no self-loops": with_attribute("add_self_loops", False),
    "another slope": with_attribute("negative_slope", 0.19),
    "ReLU": with_attribute("negative_slope", 0.0),
    "ends exchanged": exchanged,
    "no attention": without_attention,
    "heads mixed": lambda graph, layer, x: layer(x, graph).roll(2, 1),
    "no bias": lambda graph, layer, x: layer(x, graph) - layer.bias,
}


@pytest.fixture
def check(make_case):
    """Verify a call of PyG's layer, after the right one."""

    def check(operation, run, direction="forward", change=None):
        case = make_case(operation, "pyg", direction, hidden=16)
        module = platforms.load("pyg")
        graph, layer = OPERATIONS[operation].kernel("pyg").build(case)
        if change:
            change(layer)
        inputs = graph, layer, features(case)
        if direction == "forward_backward":
            run, inputs = with_backward(module, run, inputs)
        verify(case, module, run, inputs, OPERATIONS[operation].reference)

    return check


@pytest.mark.parametrize("run", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("operation", ["gat_conv", "gatv2_conv"])
def test_wrong_output(check, operation, run):
    check(operation, apply)
    with pytest.raises(MismatchError, match="output is wrong"):
        check(operation, run)


@pytest.mark.parametrize(
    ("operation", "names"),
    [("gat_conv", gat_parameters(16)), ("gatv2_conv", gatv2_parameters(16))],
    ids=["gat_conv", "gatv2_conv"],
)
def test_wrong_gradient_of_any_parameter(check, operation, names):
    check(operation, apply, "forward_backward")
    for name in names:

        def scale(layer, name=name):
            layer.get_parameter(name).register_hook(lambda gradient: gradient * 1.001)

        with pytest.raises(MismatchError, match="gradient of input tensor"):
            check(operation, apply, "forward_backward", scale)


@pytest.mark.parametrize("hidden", [6, 8, 20])
@pytest.mark.parametrize("platform", ["pyg", "sparse", "dgl"])
@pytest.mark.parametrize("operation", ["gat_conv", "gatv2_conv"])
def test_heads_of_whole_channels(make_case, operation, platform, hidden):
    case = make_case(operation, platform, hidden=hidden)
    module, kernel = platforms.load(platform), OPERATIONS[operation].kernel(platform)
    inputs = (*kernel.build(case), features(case))
    assert kernel.run(*inputs).shape == (60, 16 if hidden == 20 else 8)
    verify(case, module, kernel.run, inputs, OPERATIONS[operation].reference)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("width", [8, 64, 256])
def test_leaky_relu_is_never_near_its_kink(make_case, width, dtype):
    x = features(make_case(hidden=width)).to(dtype)
    sign = torch.tensor([1, -1]).repeat(30)
    gat, gatv2 = (
        {name: value.to(dtype) for name, value in parameters(width).items()}
        for parameters in (gat_parameters, gatv2_parameters)
    )
    hidden = (x @ gat["lin.weight"].t()).view(60, 8, -1)
    of_target = x @ gatv2["lin_r.weight"].t() + gatv2["lin_r.bias"]
    for source, target in (
        ((hidden * gat["att_src"]).sum(2), (hidden * gat["att_dst"]).sum(2)),
        (x @ gatv2["lin_l.weight"].t() + gatv2["lin_l.bias"], of_target),
    ):
        assert (source * sign.unsqueeze(1)).min() > target.abs().max() + 0.3


def test_least_work_by_hand(make_case):
    """N = 9, L = 25, F = 8, and 8 heads of one column."""
    gat, gatv2 = (
        least(make_case(operation, "pyg", "forward_backward", graph=make_graph()))
        for operation in ("gat_conv", "gatv2_conv")
    )
    assert gat == Work(208 + 8 * (72 + 64 + 24 + 72), 6 * 9 * 64 + 14 * 72 + 12 * 200 + 6 * 200)
    assert gatv2 == Work(208 + 8 * (72 + 128 + 24 + 72), 12 * 9 * 64 + 4 * 72 + 16 * 200 + 7 * 200)
