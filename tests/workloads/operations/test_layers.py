"""What the checks of layers find, GIN's distance from the kink of ReLU, and formulas by hand."""

import copy

import pytest
import torch
from torch import nn

from gnnbench.workloads import platforms
from gnnbench.workloads.least_work import Work
from gnnbench.workloads.operations import REFERENCES, layers
from gnnbench.workloads.roofline import least
from gnnbench.workloads.spec import FLOATS
from gnnbench.workloads.verify import MismatchError, verify
from tests.workloads.test_least_work import make_graph
from tests.workloads.test_operations import workload_of


def swap(one, other):
    one.weight.data, other.weight.data = other.weight.data, one.weight.data


def add(layer):
    from torch_geometric.nn import SumAggregation

    layer.aggr_module = SumAggregation()


WRONG = {
    "neighbours' weights for a node itself": ("sage_conv", lambda layer: swap(layer.lin_l, layer.lin_r)),
    "sums for means": ("sage_conv", add),
    "no epsilon": ("gin_conv", lambda layer: layer.eps.data.zero_()),
    "no ReLU": ("gin_conv", lambda layer: layer.nn.__setitem__(1, nn.Identity())),
    "keys for queries": ("transformer_conv", lambda layer: swap(layer.lin_key, layer.lin_query)),
    "one head": ("transformer_conv", lambda layer: vars(layer).update(heads=1, out_channels=64)),
    "scores that are not divided": (
        "transformer_conv",
        lambda layer: layer.lin_query.weight.data.mul_(8**0.5),
    ),
    "no skip": ("transformer_conv", lambda layer: setattr(layer, "root_weight", False)),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("operation", "change"), WRONG.values(), ids=WRONG)
def test_wrong_layer_is_found(make_case, operation, change, dtype):
    case = make_case(operation, "pyg", dtype=dtype, hidden=64)
    run, inputs, _ = workload_of(case, platforms.load("pyg"))

    def wrong(edge_index, layer, x):
        layer = copy.deepcopy(layer)
        change(layer)
        return run(edge_index, layer, x)

    with pytest.raises(MismatchError, match="output is wrong"):
        verify(case, platforms.load("pyg"), wrong, inputs, getattr(REFERENCES, operation))


WRONG_MESSAGES = {
    "ends swapped": lambda start, end, weight: weight * (end - start).relu(),
    "no ReLU": lambda start, end, weight: weight * (start - end),
    "no weight": lambda start, end, _weight: (start - end).relu(),
    "one end only": lambda start, _end, weight: weight * start.relu(),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("message", WRONG_MESSAGES.values(), ids=WRONG_MESSAGES)
def test_wrong_message_is_found(make_case, message, dtype):
    case = make_case("message_passing", dtype=dtype, hidden=64)
    plain = platforms.load("torch")
    _, inputs, _ = workload_of(case, plain)

    def wrong(edge_index, x, weight):
        source, target = edge_index
        return torch.zeros_like(x).index_add(0, target, message(x[source], x[target], weight.unsqueeze(1)))

    with pytest.raises(MismatchError, match="output is wrong"):
        verify(case, plain, wrong, inputs, REFERENCES.message_passing)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("platform", ["pyg", "sparse", "dgl"])
def test_rounding_moves_no_pre_activation_of_gin_across_the_kink(make_case, platform, dtype):
    signs = []
    for precision in ("float64", dtype):
        case = make_case("gin_conv", platform, dtype=precision, hidden=64)
        run, (graph, layer, x), _ = workload_of(case, platforms.load(platform))
        (relu,) = (part for part in layer.modules() if isinstance(part, nn.ReLU))
        relu.register_forward_hook(lambda _relu, given, _out: signs.append(given[0]))
        run(graph, layer, x)
    exact, rounded = signs
    assert exact.abs().min() >= 0.25
    assert torch.equal(rounded > 0, exact > 0)
    assert 0.2 < (exact > 0).double().mean() < 0.8, "ReLU must matter"


def test_features_of_gin_are_whole_and_of_both_signs(make_case):
    x = layers.whole_features(make_case("gin_conv", "pyg"))
    assert set(x.unique().tolist()) == {-2, -1, 0, 1, 2}


# N = 9, E = 16, R = 7, F = 8 in float32 and int64: G(E) = 8 (10 + 16) = 208.
@pytest.mark.parametrize(
    ("operation", "direction", "expected"),
    [
        ("sage_conv", "forward", Work(208 + 4 * (144 + 128 + 8), (16 + 7 + 9) * 8 + 2 * 16 * 64)),
        (
            "sage_conv",
            "forward_backward",
            Work(208 + 2 * 4 * (144 + 128 + 8), 2 * (16 + 7 + 9) * 8 + 3 * 2 * 16 * 64),
        ),
        ("gin_conv", "forward", Work(208 + 4 * (144 + 128 + 17), (16 + 5 * 9) * 8 + 2 * 2 * 9 * 64)),
        (
            "gin_conv",
            "forward_backward",
            Work(208 + 2 * 4 * (144 + 128 + 17), 2 * (16 + 5 * 9) * 8 + 3 * 2 * 2 * 9 * 64 + 2 * 72),
        ),
        (
            "transformer_conv",
            "forward",
            Work(208 + 4 * (144 + 256 + 32), 30 * (2 * 64 + 8) + 4 * 16 * (8 + 8) + 72),
        ),
        (
            "transformer_conv",
            "forward_backward",
            Work(
                208 + 4 * (2 * (144 + 256 + 32) - 8),
                30 * (6 * 64 + 8) + 4 * 16 * (8 + 8) + 72 + 23 * 8 + 16 * (8 * 8 + 5 * 8),
            ),
        ),
        ("message_passing", "forward", Work(208 + 4 * ((7 + 9) * 8 + 16), 4 * 16 * 8)),
        ("message_passing", "forward_backward", Work(208 + 2 * 4 * ((7 + 9) * 8 + 16), 10 * 16 * 8)),
    ],
)
def test_least_work_by_hand(make_case, operation, direction, expected):
    assert least(make_case(operation, "pyg", direction, graph=make_graph())) == expected
