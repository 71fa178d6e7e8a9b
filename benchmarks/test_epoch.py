"""One full training epoch of a three-layer GCN, and each of its four phases alone.

The number people quote. A kernel that got slower shows here by as much as it matters; the phases say where.
"""

import pytest


@pytest.mark.operations("epoch")
def test_epoch(training, measure):
    """Forward, loss, backward and step, as a user's training loop runs them."""
    from gnnbench.workloads.training import epoch

    t = training
    measure(epoch, t.model, t.structure, t.x, t.train, t.y, t.optimizer)


@pytest.mark.operations("epoch_forward")
def test_forward(training, measure):
    """Recorded for the backward pass, as in training."""
    t = training
    measure(lambda model, structure, x: model(structure, x), t.model, t.structure, t.x)


@pytest.mark.operations("epoch_loss")
def test_loss(case, training, measure):
    """On all nodes' logits and the training nodes' labels."""
    from gnnbench.workloads.training import loss

    logits = case.features(case.graph.num_classes).requires_grad_()
    measure(loss, logits, training.train, training.y)


@pytest.mark.in_place("a recorded forward pass cannot be copied")
@pytest.mark.operations("epoch_backward")
def test_backward(training, measure):
    """Again and again over one recorded forward pass; the features are there for the reference."""
    from gnnbench.workloads.training import loss

    value = loss(training.model(training.structure, training.x), training.train, training.y)

    def backward(model, _features):
        model.zero_grad()
        value.backward(retain_graph=True)
        return value

    measure(backward, training.model, training.x)


@pytest.mark.operations("epoch_step")
def test_step(training, measure):
    """Adam over all parameters with gradients that stay as they are; the largest weight is checked."""
    from gnnbench.workloads.case import gradient_for

    for parameter in training.model.parameters():
        parameter.grad = gradient_for(parameter)

    def step(weight, optimizer):
        optimizer.step()
        return weight

    weight = max(training.model.parameters(), key=lambda parameter: parameter.numel())
    measure(step, weight, training.optimizer)
