"""A wrong gradient of attention is found, and rounding never decides the gradient of LeakyReLU."""

import pytest
import torch

from gnnbench.workloads.operations.gat_conv import features, gat_parameters, gatv2_parameters
from tests.workloads.cells import check, workload_of


@pytest.mark.parametrize("operation", ["gat_conv", "gatv2_conv"])
def test_a_wrong_gradient_of_any_parameter_is_found(make_case, operation):
    names = {"gat_conv": gat_parameters, "gatv2_conv": gatv2_parameters}[operation](16)
    for name in names:

        def scaled(run, graph, layer, x, name=name):
            layer.get_parameter(name).register_hook(lambda gradient: gradient * 1.001)
            return run(graph, layer, x)

        case = make_case(operation, "pyg", "forward_backward", hidden=16)
        workload_of(case).must_be_found_wrong(scaled, "gradient of input tensor")


@pytest.mark.parametrize("platform", ["pyg", "sparse", "dgl"])
@pytest.mark.parametrize("operation", ["gat_conv", "gatv2_conv"])
def test_heads_have_whole_channels(make_case, operation, platform):
    for hidden, columns in ((6, 8), (8, 8), (20, 16)):
        case = make_case(operation, platform, hidden=hidden)
        workload = workload_of(case)
        assert workload.run(*workload.inputs).shape == (60, columns)
        check(case)


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
