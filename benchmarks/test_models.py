"""Whole models of PyG, eager (`pyg`) and compiled (`compiled`), as in PyTorch's `basic_gnn_*` benchmarks.

A single layer does not show what torch.compile gains or loses between layers. Compilation is not timed, so
the ratio of the two rows is the gain in each later call. Ten PyTorch issues about GNN regressions concern
these models, most of them in half precision, with one thread or with all threads.
"""

import pytest

MODELS = ("gcn", "gin", "sage", "edge_cnn")


@pytest.mark.operations(*(f"{name}_inference{end}" for name in MODELS for end in ("", "_1_thread")))
def test_inference(case, kernel, measure):
    """The forward pass without gradients; features have the hidden width."""
    from gnnbench.suite.operations.compiled import model

    measure(kernel.run, kernel.build(case), model(case), case.features())


@pytest.mark.operations(*(f"{name}_training{end}" for name in MODELS for end in ("", "_1_thread")))
def test_training(case, kernel, measure):
    """Forward, loss on the training nodes, backward and Adam's step; loss and step are not compiled."""
    from gnnbench.suite import network, training
    from gnnbench.suite.operations.compiled import model

    t = training.prepare_model(case, network.Network([model(case)], kernel.run), kernel.build(case))
    measure(training.epoch, *t._replace(x=case.features().detach()))
