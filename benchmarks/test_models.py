"""Whole models of PyG, plain (`pyg`) and compiled, as in PyTorch's own `basic_gnn_*` benchmarks.

A layer alone does not show what torch.compile gains or loses between layers. Compiling is not timed: the
ratio of both rows is the gain in each later call. Ten of PyTorch's issues on regressions of GNNs are about
these models, most of them in half precision, with one thread or with all.
"""

import pytest

MODELS = ("gcn", "gin", "sage", "edge_cnn")


@pytest.mark.operations(*(f"{name}_inference{end}" for name in MODELS for end in ("", "_1_thread")))
def test_inference(case, kernel, measure):
    """Without a gradient; features have the hidden width."""
    from gnnbench.suite.operations.compiled import model

    measure(kernel.run, kernel.build(case), model(case), case.features())


@pytest.mark.operations(*(f"{name}_training{end}" for name in MODELS for end in ("", "_1_thread")))
def test_training(case, kernel, measure):
    """Forward, loss on the training nodes, backward and Adam's step; loss and step are not compiled."""
    from gnnbench.suite import network, training
    from gnnbench.suite.operations.compiled import model

    t = training.prepare_model(case, network.Network([model(case)], kernel.run), kernel.build(case))
    measure(training.epoch, *t._replace(x=case.features().detach()))
