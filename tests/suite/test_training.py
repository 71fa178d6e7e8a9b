from dataclasses import replace

import pytest
import torch

from gnnbench.suite import network
from gnnbench.suite.operations import OPERATIONS, gat_conv, layers
from tests.suite.cells import check, workload_of


def initial_weights(graph, hidden, seed=0):
    return network.initial_weights(network.widths(graph, hidden), seed)


@pytest.mark.parametrize(
    ("name", "hidden", "expected"),
    [
        ("cora", 256, (24, 256, 32, 4)),
        ("cora:synthetic", 256, (24, 256, 32, 4)),
        ("pubmed:synthetic@0.5", 4, (24, 4, 1, 4)),
        ("ogbn-arxiv", 128, (24, 128, 128, 4)),
        ("roads.mtx", 64, (24, 64, 64, 4)),
    ],
)
def test_second_hidden_layer_is_an_eighth_on_planetoid_only(small_graph, name, hidden, expected):
    assert network.widths(replace(small_graph, name=name), hidden) == expected


def test_a_seed_draws_the_same_weights_and_leaves_torch_s_numbers_alone(small_graph):
    torch.rand(3)
    before = torch.get_rng_state()
    (first, *_), (again, *_), (other, *_) = (initial_weights(small_graph, 64, seed) for seed in (1, 1, 2))
    assert all(map(torch.equal, first, again))
    assert not torch.equal(first[0], other[0])
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("build", [gat_conv.build, layers.sage_network])
def test_a_network_begins_with_the_same_weights_on_every_platform(make_case, build):
    of_pyg, of_dgl = (build(make_case("epoch_gat", platform, "train")) for platform in ("pyg", "dgl"))
    assert all(map(torch.equal, network.ordered(of_pyg), network.ordered(of_dgl)))
    other = network.ordered(build(make_case("epoch_gat", "pyg", "train"), seed=1))
    assert not torch.equal(network.ordered(of_pyg)[0], other[0])


@pytest.mark.parametrize("platform", OPERATIONS["epoch"].calls)
def test_an_epoch_begins_with_the_initial_weights_and_is_right(make_case, small_graph, platform):
    graph = replace(small_graph, x=small_graph.x - 0.5)  # so that a ReLU too many shows
    case = make_case("epoch", platform, "train", "float64", graph=graph)
    matrices = [one for one in workload_of(case).inputs[0].parameters() if one.dim() == 2]
    for matrix, (weight, _) in zip(matrices, initial_weights(graph, 8), strict=True):
        assert torch.equal(matrix if platform in ("torch", "dgl") else matrix.t(), weight)
    check(case)


def test_gat_has_the_published_widths(make_case):
    model = gat_conv.build(make_case("epoch_gat", "pyg", "train", hidden=64))
    assert [(layer.heads, layer.out_channels) for layer in model.layers] == [(8, 8), (1, 4)]
