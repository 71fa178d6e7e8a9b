"""GIN's distance from the kink of ReLU."""

import pytest
import torch
from torch import nn

from gnnbench.workloads.operations import layers
from gnnbench.workloads.spec import FLOATS
from tests.workloads.cells import workload_of


@pytest.mark.parametrize("platform", ["pyg", "sparse", "dgl"])
def test_rounding_moves_no_pre_activation_of_gin_across_the_kink(make_case, platform):
    signs = {}
    for dtype in FLOATS:
        workload = workload_of(make_case("gin_conv", platform, dtype=dtype, hidden=64))
        graph, layer, x = workload.inputs
        (relu,) = (part for part in layer.modules() if isinstance(part, nn.ReLU))
        relu.register_forward_hook(lambda _relu, given, _out, of=dtype: signs.update({of: given[0]}))
        workload.run(graph, layer, x)
    exact = signs["float64"]
    assert exact.abs().min() >= 0.25
    assert all(torch.equal(rounded > 0, exact > 0) for rounded in signs.values())
    assert 0.2 < (exact > 0).double().mean() < 0.8, "ReLU must matter"


def test_features_of_gin_are_whole_and_of_both_signs(make_case):
    x = layers.whole_features(make_case("gin_conv", "pyg"))
    assert set(x.unique().tolist()) == {-2, -1, 0, 1, 2}
