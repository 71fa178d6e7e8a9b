"""The networks of epoch_gat and epoch_sage; tests/workloads/test_operations.py compares whole epochs."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from gnnbench.workloads import gat, sage, training
from tests.workloads.cells import workload_of

MODELS = {"gat": gat, "sage": sage}


EACH = pytest.mark.parametrize(
    ("name", "platform"), [(name, platform) for name in MODELS for platform in ("pyg", "sparse", "dgl")]
)


@pytest.fixture
def cell(make_case, name, platform):
    """A model's module, and a case in float64 on a platform that has it."""
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


@EACH
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


@pytest.mark.parametrize("platform", ["pyg", "sparse", "dgl"])
def test_attention_is_dropped_too(make_case, small_graph, platform):
    case = make_case("epoch_gat", platform, "train")
    layer = gat.layer(platform, gat.initial_parameters(small_graph, 64)[0], dropout=0.6)
    kernel = gat.kernel(platform)
    structure, x = kernel.build(case), case.node_features().double()
    assert not torch.equal(kernel.run(structure, layer, x), kernel.run(structure, layer, x))


@EACH
def test_training_lowers_the_loss(cell, small_graph):
    model, case = cell
    network = model.build(case, model.initial_parameters(small_graph, 64))
    t = training.prepare_model(case, network, model.kernel(case.spec.platform).build(case), weight_decay=5e-4)
    training.fit(t, epochs=30)
    loss = training.loss(network(t.structure, t.x), t.train, t.y)
    assert loss < 0.9 * torch.tensor(small_graph.num_classes).log()


def test_an_epoch_of_gat_with_one_gradient_scaled_is_found(make_case):
    case = make_case("epoch_gat", "pyg", "train", hidden=64)
    names = [name for name, _ in workload_of(case).inputs[0].named_parameters()]
    assert len(names) == 8
    for name in names:

        def scaled(run, model, *inputs, name=name):
            model.get_parameter(name).register_hook(lambda gradient: gradient * 0.9)
            return run(model, *inputs)

        if name == "layers.1.att_dst":  # its terms cancel, see verify.py
            workload = workload_of(case)
            replace(workload, run=partial(scaled, workload.run)).verify()
        else:
            workload_of(case).must_be_found_wrong(scaled, "the gradient of input tensor")
