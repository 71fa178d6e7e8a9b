"""The platforms train the same model: on the small graph number by number, on Cora to the same accuracy."""

import pytest
import torch

from gnnbench.packages import missing
from gnnbench.workloads import gcn, platforms, training
from gnnbench.workloads.case import Case
from gnnbench.workloads.operations import REFERENCES
from gnnbench.workloads.platforms import PLATFORMS
from gnnbench.workloads.spec import Spec

INSTALLED = [platform.name for platform in PLATFORMS.values() if not missing(platform.packages)]


def prepare(case, seed=0):
    weights = gcn.initial_weights(gcn.widths(case.graph, case.spec.hidden), seed)
    return training.prepare(case, platforms.load(case.spec.platform), weights)


def run_epoch(prepared):
    t = prepared
    return training.epoch(t.model, t.structure, t.x, t.train, t.y, t.optimizer)


def matrices(model, platform):
    """Return the gradients of a model's weights as [in, out]."""
    transposed = platforms.load(platform).TRANSPOSED_WEIGHT
    found = [parameter.grad for parameter in model.parameters() if parameter.dim() == 2]
    return [gradient.t() if transposed else gradient for gradient in found]


@pytest.fixture(params=["small_graph", "multi_label_graph"])
def any_labels(request):
    """A graph with a class for each node, and one with several tasks."""
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_one_epochs_loss_and_gradients_are_the_references(make_case, any_labels, platform):
    case = make_case("epoch", platform, "train", "float64", graph=any_labels)
    weights = gcn.initial_weights(gcn.widths(any_labels, 8))
    expected_weights = [weight.clone().requires_grad_() for weight, _ in weights]
    expected = REFERENCES.epoch(
        any_labels, *expected_weights, *(bias for _, bias in weights), any_labels.x.double()
    )
    prepared = prepare(case)
    value = run_epoch(prepared)
    torch.testing.assert_close(value, expected, rtol=1e-12, atol=0)
    gradients = torch.autograd.grad(expected, expected_weights)
    for found, right in zip(matrices(prepared.model, platform), gradients, strict=True):
        torch.testing.assert_close(found, right, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_training_lowers_the_loss(make_case, any_labels, platform):
    prepared = prepare(make_case("epoch", platform, "train", hidden=64, graph=any_labels))
    first = run_epoch(prepared).item()
    training.fit(prepared, epochs=50)
    assert run_epoch(prepared).item() < 0.9 * first


def test_platforms_stay_together_over_epochs(make_case, small_graph):
    def trained(platform):
        prepared = prepare(make_case("epoch", platform, "train", "float64"))
        training.fit(prepared, epochs=20)
        with torch.no_grad():
            return prepared.model(prepared.structure, prepared.x)

    first, *others = map(trained, INSTALLED)
    assert first.shape == (60, small_graph.num_classes)
    for other in others:
        torch.testing.assert_close(other, first, rtol=1e-6, atol=1e-8)


def test_only_training_nodes_and_their_labels_count(make_case, small_graph, multi_label_graph):
    for graph, dtype in ((small_graph, torch.int64), (multi_label_graph, torch.bool)):
        prepared = prepare(make_case("epoch", graph=graph))
        assert torch.equal(prepared.train, graph.train_mask.nonzero().squeeze(1))
        assert prepared.y.dtype == dtype
        logits = torch.randn(60, 4, requires_grad=True)
        training.loss(logits, prepared.train, prepared.y).backward()
        assert torch.equal(logits.grad.any(dim=1), graph.train_mask)


def test_accuracy_is_taken_on_the_given_nodes_only(small_graph):
    right = torch.nn.functional.one_hot(small_graph.y, 4).float()
    wrong = right.roll(1, dims=1)
    test = small_graph.test_mask
    model = torch.nn.Module()
    model.forward = lambda structure, _: torch.where(structure.unsqueeze(1), right, wrong)

    def accuracy(right_on):
        return training.accuracy(model, right_on, small_graph.x, small_graph.y, test)

    assert accuracy(test) == 1
    assert accuracy(~test) == 0
    half = test.clone()
    half[test.nonzero()[::2]] = False
    assert accuracy(half) == 0.5


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(5))
def test_every_platform_learns_cora_equally_well(cora, seed):
    accuracies = {}
    for platform in INSTALLED:
        case = Case(Spec("epoch", "train", platform, "float32", "int64", "cora", 256, "cpu"), cora)
        prepared = prepare(case, seed)
        training.fit(prepared)
        accuracies[platform] = training.accuracy(
            prepared.model, prepared.structure, prepared.x, cora.y, cora.test_mask
        )
    assert min(accuracies.values()) >= 0.75, accuracies
    assert max(accuracies.values()) - min(accuracies.values()) <= 0.02, accuracies
