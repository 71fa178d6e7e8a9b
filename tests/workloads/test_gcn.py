from dataclasses import replace

import pytest
import torch

from gnnbench.workloads import gcn, platforms
from gnnbench.workloads.operations import REFERENCES
from gnnbench.workloads.platforms import PLATFORMS


@pytest.mark.parametrize(
    ("name", "hidden", "expected"),
    [
        ("cora", 256, (24, 256, 32, 4)),
        ("cora:synthetic", 256, (24, 256, 32, 4)),
        ("pubmed:synthetic@0.5", 4, (24, 4, 1, 4)),
        ("ogbn-arxiv", 128, (24, 128, 128, 4)),
        ("rmat:14", 64, (24, 64, 64, 4)),
        ("roads.mtx", 64, (24, 64, 64, 4)),
    ],
)
def test_second_hidden_layer_is_an_eighth_on_planetoid_only(small_graph, name, hidden, expected):
    assert gcn.widths(replace(small_graph, name=name), hidden) == expected


def test_initial_weights_are_glorots_and_biases_zero():
    for (weight, bias), (fan_in, fan_out) in zip(
        gcn.initial_weights((300, 200, 7)), ((300, 200), (200, 7)), strict=True
    ):
        bound = (6 / (fan_in + fan_out)) ** 0.5
        assert (weight.shape, weight.dtype) == ((fan_in, fan_out), torch.float64)
        assert 0.99 * bound < weight.abs().max() <= bound
        assert weight.mean().abs() < 0.05 * bound
        assert not bias.any()


def test_a_seed_draws_the_same_weights_whatever_was_drawn_before():
    torch.rand(3)
    before = torch.get_rng_state()
    first, again, other = (gcn.initial_weights((24, 8, 4), seed) for seed in (1, 1, 2))
    assert torch.equal(first[0][0], again[0][0])
    assert not torch.equal(first[0][0], other[0][0])
    assert torch.equal(torch.get_rng_state(), before)


@pytest.fixture
def weights():
    return gcn.initial_weights((24, 16, 8, 4), seed=3)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_platforms_give_the_references_logits(make_case, small_graph, weights, platform):
    graph = replace(small_graph, x=small_graph.x - 0.5)  # so that a ReLU too many shows
    case, module = make_case("epoch", platform, "train", "float64", graph=graph), platforms.load(platform)
    model = gcn.build(module, weights, case.device, case.dtype)
    structure = module.convolution(cached=module.MODEL_CACHED).build(case)
    tensors = *(weight for weight, _ in weights), *(bias for _, bias in weights), graph.x.double()
    expected = REFERENCES.epoch_forward(graph, *tensors)
    torch.testing.assert_close(model(structure, case.node_features()), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_building_copies_the_weights_in_the_models_type(weights, platform):
    before = [weight.clone() for weight, _ in weights]
    model = gcn.build(platforms.load(platform), weights, torch.device("cpu"), torch.float32)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert sum(parameter.numel() for parameter in model.parameters()) == 24 * 16 + 16 * 8 + 8 * 4 + 28
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert all(torch.equal(weight, kept) for (weight, _), kept in zip(weights, before, strict=True))
