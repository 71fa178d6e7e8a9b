"""Training on batches of drawn neighbours learns the real Cora."""

import pytest
import torch

from gnnbench.packages import missing
from gnnbench.workloads import minibatch, sage, training
from gnnbench.workloads.case import Case
from gnnbench.workloads.platforms import PLATFORMS
from gnnbench.workloads.spec import Spec

EPOCHS = 30


def fitted(case, seed):
    """Return the accuracy on the test nodes after the epoch with the best one on the validation nodes."""
    library, graph = minibatch.LIBRARIES[case.spec.platform], case.graph
    library.start(seed)
    model = minibatch.build(case, seed, dropout=0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    loader, on_batches = library.loader(case, shuffle=True), model.convolve
    kernel = sage.kernel(case.spec.platform)
    structure, best, found = kernel.build(case), 0.0, 0.0
    for _ in range(EPOCHS):
        model.train()
        model.convolve = on_batches
        minibatch.epoch(library, loader, model, optimizer)
        model.convolve = kernel.run
        val, test = (
            training.accuracy(model, structure, graph.x, graph.y, mask)
            for mask in (graph.val_mask, graph.test_mask)
        )
        if val > best:
            best, found = val, test
    return found


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("platform", minibatch.LIBRARIES)
def test_batches_of_neighbours_learn_cora(cora, platform, seed):
    if reason := missing(PLATFORMS[platform].packages):
        pytest.skip(reason)
    case = Case(Spec("epoch_sage_batches", "train", platform, "float32", "int64", "cora", 256, "cpu"), cora)
    assert fitted(case, seed) >= 0.78


@pytest.mark.parametrize("platform", minibatch.LIBRARIES)
def test_a_loader_in_this_process_starts_no_other(make_case, platform):
    """Nothing must outlive the benchmark, so nothing is started."""
    import threading

    import psutil

    case = make_case("epoch_sage_batches", platform, "train")
    library = minibatch.LIBRARIES[platform]
    before = psutil.Process().children(), threading.active_count()
    batches = library.batches(library.loader(case, shuffle=False), torch.device("cpu"))
    next(batches)  # and interrupted here
    assert (psutil.Process().children(), threading.active_count()) == before
