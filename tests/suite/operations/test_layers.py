"""Rounding never decides the gradient of a ReLU; heads have whole channels; batches are of whole graphs."""

import pytest
import torch
from torch import nn
from torch_geometric.nn.pool.connect import FilterEdges

from gnnbench.suite.operations import OPERATIONS, batch, layers
from gnnbench.suite.operations.gat_conv import features, gat_parameters, gatv2_parameters
from gnnbench.suite.spec import FLOATS
from tests.suite.cells import check, limit, workload_of

BATCHED = [name for name, operation in OPERATIONS.items() if operation.group == "batches"]


@pytest.mark.parametrize("platform", ["pyg", "sparse", "dgl"])
def test_rounding_moves_no_pre_activation_of_gin_across_the_kink(make_case, platform):
    signs = {}
    for dtype in (dtype for dtype in FLOATS if limit("gin_conv", platform, "forward", dtype) is None):
        workload = workload_of(make_case("gin_conv", platform, dtype=dtype, hidden=64))
        graph, layer, x = workload.inputs
        (relu,) = (part for part in layer.modules() if isinstance(part, nn.ReLU))
        relu.register_forward_hook(lambda _relu, given, _out, of=dtype: signs.update({of: given[0]}))
        workload.run(graph, layer, x)
    exact = signs["float64"]
    assert exact.abs().min() >= 0.25
    assert all(torch.equal(rounded > 0, exact > 0) for rounded in signs.values())
    assert 0.2 < (exact > 0).double().mean() < 0.8, "ReLU must matter"
    assert set(layers.whole_features(workload.case).unique().tolist()) == {-2, -1, 0, 1, 2}


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


@pytest.mark.parametrize("platform", ["pyg", "sparse", "dgl"])
@pytest.mark.parametrize("operation", ["gat_conv", "gatv2_conv"])
def test_heads_have_whole_channels(make_case, operation, platform):
    for hidden, columns in ((6, 8), (8, 8), (20, 16)):
        case = make_case(operation, platform, hidden=hidden)
        workload = workload_of(case)
        assert workload.run(*workload.inputs).shape == (60, columns)
        check(case)


@pytest.mark.parametrize(
    ("operation", "platform"), [(name, platform) for name in BATCHED for platform in OPERATIONS[name].calls]
)
def test_a_batch_is_the_first_graphs(make_case, monkeypatch, operation, platform):
    monkeypatch.setattr(batch, "SIZE", 5)
    check(make_case(operation, platform, OPERATIONS[operation].directions[-1], hidden=16))


def test_the_edges_of_nodes_that_a_pool_keeps_are_compared(make_case, monkeypatch):
    def one_less(self, *args, **options):
        found = forward(self, *args, **options)
        found.edge_index = found.edge_index[:, 1:]
        return found

    forward = FilterEdges.forward
    monkeypatch.setattr(FilterEdges, "forward", one_less)
    workload = workload_of(make_case("topk_pool", "pyg", hidden=16))
    workload.must_be_found_wrong(lambda run, *inputs: run(*inputs), "wrong|shape|positions")
