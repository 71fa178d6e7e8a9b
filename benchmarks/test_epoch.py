"""One training epoch of a three-layer GCN, and its two passes alone; epochs of GAT and GraphSAGE.

The epoch shows how much a slower kernel matters in training, and the passes show which of them it slows down.
GAT spends most of its time on edges. GraphSAGE also propagates the wide features of the data set.
"""

import pytest


@pytest.mark.operations("epoch")
def test_epoch(training, measure):
    """Forward, loss, backward and step, as in a training loop."""
    from gnnbench.suite.training import epoch

    measure(epoch, *training)


@pytest.mark.operations("epoch_gat")
def test_gat(case, library, measure):
    """Two layers of graph attention, without dropout, because its random numbers differ by library."""
    from gnnbench.suite import training
    from gnnbench.suite.operations import gat_conv

    model = gat_conv.build(case)
    measure(training.epoch, *training.prepare_model(case, model, library.layer_graph(case)))


@pytest.mark.operations("epoch_sage")
def test_sage(case, measure):
    """Two layers of GraphSAGE with mean aggregation, without dropout."""
    from gnnbench.suite import training
    from gnnbench.suite.operations import layers

    model = layers.sage_network(case)
    measure(training.epoch, *training.prepare_model(case, model, layers.sage_graph(case)))


@pytest.mark.operations("epoch_forward")
def test_forward(training, measure):
    """The forward pass alone, which records an autograd graph, as in training."""
    t = training
    measure(lambda model, structure, x: model(structure, x), t.model, t.structure, t.x)


@pytest.mark.in_place("its autograd graph cannot be copied")
@pytest.mark.operations("epoch_backward")
def test_backward(training, measure):
    """Each round repeats the backward pass of the same forward pass; only the reference uses the features."""
    from gnnbench.suite.training import loss

    value = loss(training.model(training.structure, training.x), training.train, training.y)

    def backward(model, _features):
        model.zero_grad()
        value.backward(retain_graph=True)
        return value

    measure(backward, training.model, training.x)
