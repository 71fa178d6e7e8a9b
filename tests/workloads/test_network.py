"""The networks of epoch_gat and epoch_sage; tests/workloads/test_operations.py compares whole epochs."""

import pytest
import torch

from gnnbench.workloads import gat, platforms, sage, training
from gnnbench.workloads.operations import REFERENCES
from gnnbench.workloads.verify import MismatchError, verify

MODELS = {"gat": gat, "sage": sage}


@pytest.fixture(params=[(name, platform) for name in MODELS for platform in ("pyg", "sparse", "dgl")])
def cell(request, make_case):
    """A model's module, and a case in float64 on a platform that has it."""
    name, platform = request.param
    return MODELS[name], make_case(f"epoch_{name}", platform, "train", "float64", hidden=64)


def test_gat_has_the_published_widths():
    assert gat.widths(1433, 64, 7) == ((1433, 8, 8), (64, 1, 7))
    assert gat.widths(24, 4, 4) == ((24, 8, 1), (8, 1, 4))


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_seed_draws_the_same_parameters(small_graph, model):
    first, again, other = (model.initial_parameters(small_graph, 64, seed) for seed in (1, 1, 2))
    for one, same, different in zip(first, again, other, strict=True):
        assert all(map(torch.equal, one, same))
        assert not torch.equal(one[0], different[0])


def test_dropout_is_applied_in_training_only(cell, small_graph):
    model, case = cell
    parameters = model.initial_parameters(small_graph, 64)
    structure, x = model.kernel(case.spec.platform).build(case), case.node_features()
    expected = model.build(case, parameters)(structure, x)
    network = model.build(case, parameters, dropout=0.6)
    first, second = network(structure, x), network(structure, x)
    assert not torch.equal(first, second)
    network.eval()
    torch.testing.assert_close(network(structure, x), expected, rtol=1e-12, atol=1e-12)


def test_attention_is_dropped_too(make_case, small_graph):
    for platform in ("pyg", "sparse", "dgl"):
        case = make_case("epoch_gat", platform, "train")
        layer = gat.layer(platform, gat.initial_parameters(small_graph, 64)[0], dropout=0.6)
        kernel = gat.kernel(platform)
        structure, x = kernel.build(case), case.node_features().double()
        assert not torch.equal(kernel.run(structure, layer, x), kernel.run(structure, layer, x))


def test_training_lowers_the_loss(cell, small_graph):
    model, case = cell
    network = model.build(case, model.initial_parameters(small_graph, 64))
    t = training.prepare_model(case, network, model.kernel(case.spec.platform).build(case), weight_decay=5e-4)
    training.fit(t, epochs=30)
    loss = training.loss(network(t.structure, t.x), t.train, t.y)
    assert loss < 0.9 * torch.tensor(small_graph.num_classes).log()


@pytest.mark.parametrize("index", range(8))
def test_epoch_of_gat_with_one_gradient_scaled_is_caught(make_case, small_graph, index):
    case = make_case("epoch_gat", "pyg", "train", hidden=64)
    network = gat.build(case, gat.initial_parameters(small_graph, 64))
    name, parameter = list(network.named_parameters())[index]
    t = training.prepare_model(case, network, gat.kernel("pyg").build(case))

    def scaled(model, structure, x, train, y, optimizer):
        optimizer.zero_grad()
        value = training.loss(model(structure, x), train, y)
        value.backward()
        parameter.grad *= 0.9
        optimizer.step()
        return value

    def check():
        inputs = t.model, t.structure, t.x, t.train, t.y, t.optimizer
        verify(case, platforms.load("pyg"), scaled, inputs, REFERENCES.epoch_gat)

    if name == "layers.1.att_dst":
        check()  # its terms cancel, see verify.py
        return
    with pytest.raises(MismatchError, match="the gradient of input tensor"):
        check()
