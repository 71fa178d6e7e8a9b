"""Epochs of several steps, and with random draws."""

import threading

import psutil
import pytest
import torch

from gnnbench.engine.measure.conditions import cpu_threads
from gnnbench.suite.operations import OPERATIONS, epoch_gin
from gnnbench.suite.operations import epoch_sage_batches as minibatch
from tests.suite.cells import check, workload_of

EACH_LIBRARY = pytest.mark.parametrize("platform", minibatch.LIBRARIES)


@pytest.mark.parametrize("platform", OPERATIONS["epoch_gin"].calls)
def test_gin_s_epoch_has_batches_of_all_training_graphs(make_case, monkeypatch, platform):
    monkeypatch.setattr(epoch_gin, "BATCH", 5)
    case = make_case("epoch_gin", platform, "train", hidden=16)
    workload = workload_of(case)
    assert [len(workload.inputs[0]), len(workload.run(*workload.inputs))] == [14, 3]
    check(case)


@pytest.fixture
def sampled(make_case, platform):
    return make_case("epoch_sage_batches", platform, "train", hidden=16)


@EACH_LIBRARY
def test_too_few_neighbours_are_found(sampled, monkeypatch):
    def wrong(run, *inputs):
        monkeypatch.setattr(minibatch, "FAN_OUTS", (15, 11))
        return run(*inputs)

    monkeypatch.setattr(minibatch, "FAN_OUTS", (15, 2))
    workload_of(sampled).must_be_found_wrong(wrong, "neighbours of node")


@EACH_LIBRARY
def test_only_the_checked_epoch_keeps_its_batches(sampled):
    workload = workload_of(sampled)
    record = workload.inputs[-1]
    losses = workload.run(*workload.inputs)
    assert len(record.batches) == len(losses)
    workload.result(losses, *workload.inputs)
    workload.run(*workload.inputs)
    assert record.batches == []


@EACH_LIBRARY
def test_epochs_draw_the_same_each_time_and_start_no_process(sampled, platform, monkeypatch):
    """On one thread. With several, DGL's draws also depend on the order in which they come."""
    monkeypatch.setattr(minibatch, "FAN_OUTS", (2, 2))
    library = minibatch.LIBRARIES[platform]
    loader = minibatch.loader(sampled)
    with cpu_threads(1):
        before, drawn = (psutil.Process().children(), threading.active_count()), []
        for seed in (0, 0, 1):
            library.start(seed)
            batch = next(library.batches(loader, torch.device("cpu")))
            drawn.append(library.draw_of(batch).hops[0].entry.tolist())
        assert (psutil.Process().children(), threading.active_count()) == before
    assert drawn[0] == drawn[1] != drawn[2]


@EACH_LIBRARY
def test_batches_of_several_sizes_are_right(sampled, monkeypatch):
    monkeypatch.setattr(minibatch, "BATCH", 7)
    monkeypatch.setattr(minibatch, "FAN_OUTS", (3, 2))
    workload = workload_of(sampled)
    assert len(workload.run(*workload.inputs)) == 3  # of 20 nodes
    check(sampled)
