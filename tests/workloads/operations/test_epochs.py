"""Epochs of several steps, and with random draws: what their checks must find."""

import pytest
import torch

from gnnbench.measure.threads import cpu_threads
from gnnbench.workloads import minibatch, platforms
from gnnbench.workloads.operations import OPERATIONS, epoch_gin, epoch_link
from gnnbench.workloads.reference import adam_step, trained
from gnnbench.workloads.verify import MismatchError, verify
from tests.workloads.test_operations import check, workload_of

EPOCHS = [
    (name, platform)
    for name in ("epoch_gin", "epoch_sage_batches", "epoch_link")
    for platform in OPERATIONS[name].calls
]


@pytest.fixture
def verified(make_case):
    """Verify an epoch after a change to its function and inputs."""

    def verified(name, platform, change):
        case = make_case(name, platform, "train", hidden=16)
        module = platforms.load(platform)
        run, inputs, result = workload_of(case, module)
        run, inputs = change(run, list(inputs))
        verify(case, module, run, inputs, OPERATIONS[name].reference, result=result)

    return verified


def _model(inputs):
    return next(one for one in inputs if isinstance(one, torch.nn.Module))


def _optimizer(inputs):
    return next(one for one in inputs if isinstance(one, torch.optim.Optimizer))


def without_steps(run, inputs):
    _optimizer(inputs).step = lambda: None
    return run, inputs


def with_another_rate(run, inputs):
    _optimizer(inputs).param_groups[0]["lr"] *= 1.1
    return run, inputs


def with_a_weight_that_does_not_learn(run, inputs):
    next(_model(inputs).parameters()).requires_grad_(requires_grad=False)
    return run, inputs


@pytest.mark.parametrize(
    "change", [without_steps, with_another_rate, with_a_weight_that_does_not_learn], ids=lambda f: f.__name__
)
@pytest.mark.parametrize(("name", "platform"), EPOCHS)
def test_training_that_is_not_the_same_is_found(verified, name, platform, change):
    with pytest.raises(MismatchError):
        verified(name, platform, change)


@pytest.mark.parametrize("platform", OPERATIONS["epoch_gin"].calls)
def test_a_graph_less_is_found(verified, platform):
    with pytest.raises(MismatchError):
        verified("epoch_gin", platform, lambda run, inputs: (run, [inputs[0][:-1], *inputs[1:]]))


def test_gin_s_epoch_has_batches_of_all_training_graphs(make_case, monkeypatch):
    monkeypatch.setattr(epoch_gin, "BATCH", 5)
    case = make_case("epoch_gin", "pyg", "train", hidden=16)
    run, inputs, _ = workload_of(case, platforms.load("pyg"))
    assert [len(inputs[0]), len(run(*inputs))] == [14, 3]
    for platform in OPERATIONS["epoch_gin"].calls:
        check(make_case("epoch_gin", platform, "train", hidden=16))


@pytest.mark.parametrize("platform", minibatch.LIBRARIES)
def test_too_few_neighbours_are_found(verified, platform, monkeypatch):
    def change(run, inputs):
        monkeypatch.setattr(minibatch, "FAN_OUTS", (15, 11))
        return run, inputs

    monkeypatch.setattr(minibatch, "FAN_OUTS", (15, 2))
    with pytest.raises(MismatchError, match="neighbours of node"):
        verified("epoch_sage_batches", platform, change)


@pytest.mark.parametrize("platform", minibatch.LIBRARIES)
def test_only_the_checked_epoch_keeps_its_batches(make_case, platform):
    case = make_case("epoch_sage_batches", platform, "train", hidden=16)
    run, inputs, result = workload_of(case, platforms.load(platform))
    *_, record = inputs
    losses = run(*inputs)
    assert len(record.batches) == len(losses)
    result(losses, *inputs)
    run(*inputs)
    assert record.batches == []


@pytest.mark.parametrize("platform", minibatch.LIBRARIES)
def test_epochs_draw_the_same_each_time(make_case, platform, monkeypatch):
    """On one thread. With several, DGL's draws also depend on the order in which they come."""
    monkeypatch.setattr(minibatch, "FAN_OUTS", (2, 2))
    case = make_case("epoch_sage_batches", platform, "train")
    library = minibatch.LIBRARIES[platform]
    loader = library.loader(case, shuffle=False)
    with cpu_threads(1):
        drawn = []
        for seed in (0, 0, 1):
            library.start(seed)
            (batch,) = library.batches(loader, torch.device("cpu"))
            drawn.append(library.drawn(batch).hops[0].entry.tolist())
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("platform", minibatch.LIBRARIES)
def test_batches_of_several_sizes_are_right(make_case, platform, monkeypatch):
    monkeypatch.setattr(minibatch, "BATCH", 7)
    monkeypatch.setattr(minibatch, "FAN_OUTS", (3, 2))
    case = make_case("epoch_sage_batches", platform, "train", hidden=16)
    run, inputs, _ = workload_of(case, platforms.load(platform))
    assert len(run(*inputs)) == 3  # of 20 nodes
    check(case)


@pytest.mark.parametrize("platform", epoch_link._LIBRARIES)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda graph, pairs: graph.edge_index[:, : pairs.size(1)], "a drawn pair is an edge"),
        (lambda _, pairs: pairs[:1].expand(2, -1), "a node with itself"),
        (lambda _, pairs: torch.cat((pairs[:, :-1], pairs[:, :1]), dim=1), "drawn twice"),
        (lambda _, pairs: pairs[:, ::2], "too few pairs"),
    ],
)
def test_wrong_pairs_are_found(verified, small_graph, monkeypatch, platform, wrong, message):
    library = epoch_link._LIBRARIES[platform]()
    changed = library._replace(draw=lambda structure: wrong(small_graph, library.draw(structure)))
    monkeypatch.setitem(epoch_link._LIBRARIES, platform, lambda: changed)
    with pytest.raises(MismatchError, match=message):
        verified("epoch_link", platform, lambda run, inputs: (run, inputs))


def test_steps_of_adam_are_pytorch_s():
    """The definition in float64 against torch.optim.Adam."""
    generator = torch.Generator().manual_seed(0)
    start = torch.rand(5, generator=generator, dtype=torch.float64)
    targets = torch.rand(6, 5, generator=generator, dtype=torch.float64)

    def loss(parameter, target):
        return (parameter - target).square().sum()

    found = trained([start], [lambda given, target=target: loss(*given, target) for target in targets])
    parameter = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([parameter], lr=0.01)
    expected = []
    for target in targets:
        optimizer.zero_grad()
        value = loss(parameter, target)
        value.backward()
        optimizer.step()
        expected.append(value.item())
    expected.append(loss(parameter, targets[0]).item())
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=0)
    gradient = 2 * (start - targets[0])
    after = trained([start], [lambda given: loss(*given, targets[0])])[1]
    torch.testing.assert_close(after, loss(adam_step(start, gradient), targets[0]))
