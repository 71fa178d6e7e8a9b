"""Training on what the chain accepts."""

import math
from dataclasses import replace

import pytest
import torch
from mhaug import chain, training, workloads
from mhaug.model import GCN, Features
from mhaug.saint import Sampling, induced
from mhaug.settings import Settings

SETTINGS = Settings(hidden=8)


def data_of(graph):
    edges = chain.edges_of(graph.edge_index, graph.num_nodes)
    return training.data_of(edges, graph.x, graph.train_mask, graph.y)


def model_of(graph):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return GCN(graph.num_features, graph.num_classes, SETTINGS)


def some_state(edges, seed=0):
    generator = torch.Generator().manual_seed(seed)
    nodes = torch.rand(edges.num_nodes, generator=generator) < 0.8
    kept = torch.rand(edges.num_edges, generator=generator) < 0.6
    return chain.full(edges)._replace(kept_edges=kept, kept_nodes=nodes)


def run(graph, seed=0, **options):
    data, model = data_of(graph), model_of(graph)
    start, propose = workloads.prepare("optimised", "torch", data.edges, data.x, SETTINGS)
    generator = torch.Generator().manual_seed(seed)
    return list(training.train(model, data, start, propose, SETTINGS, generator, **options)), model


def dense_logits(model, x, edges, kept):
    """Return the model's output from a dense normalised matrix of what is kept."""
    adjacency = torch.eye(edges.num_nodes)
    adjacency[edges.target[kept], edges.source[kept]] += 1
    scale = adjacency.sum(dim=1).rsqrt()
    adjacency = scale[:, None] * adjacency * scale
    for layer in range(2):
        x = adjacency @ (x @ model.weights[layer]) + model.biases[layer]
        x = x if layer else x.relu()
    return x


@pytest.mark.parametrize("sparse", [False, True])
def test_loss_is_its_three_terms_on_dense_matrices(small_graph, sparse):
    x = small_graph.x - 0.4  # of both signs
    if sparse:
        x = x * (torch.arange(24) % 12 == torch.arange(60)[:, None] % 12)
    graph = replace(small_graph, x=x)
    data, model = data_of(graph), model_of(graph).eval()
    assert isinstance(data.features, Features) == sparse
    states = some_state(data.edges, 1), some_state(data.edges, 2)
    found = training.loss(model, data, tuple(training.view(data, state) for state in states), SETTINGS)
    everything = torch.ones(data.edges.num_edges, dtype=torch.bool)
    x = data.x / data.x.abs().sum(1, keepdim=True)
    whole = dense_logits(model, x, data.edges, everything).softmax(1)
    kept = [x * state.kept_nodes[:, None] * (60 / state.kept_nodes.sum()) for state in states]
    current, proposal = (
        dense_logits(model, rows, data.edges, state.kept_edges).softmax(1)
        for rows, state in zip(kept, states, strict=True)
    )
    supervised = -current[data.train, data.y[data.train]].log().mean()
    divergence = (current * (current / proposal).log()).sum(1).mean()
    expected = supervised + 2.0 * divergence - 0.2 * (whole * whole.log()).sum(1).mean()
    torch.testing.assert_close(found, expected)
    ours, theirs = (torch.autograd.grad(value, list(model.parameters())) for value in (found, expected))
    torch.testing.assert_close(ours, theirs)


def test_dropout_comes_from_the_generator_and_keeps_the_mean(small_graph):
    data, model = data_of(small_graph), model_of(small_graph)
    ones = torch.ones(data.edges.num_edges)
    first, again, other = (
        model(data.features, data.structure, ones, generator=torch.Generator().manual_seed(seed))
        for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    ones = model._drop(torch.ones(1000, 100), torch.Generator().manual_seed(0))
    assert set(ones.unique().tolist()) == {0, 2}
    assert ones.mean().item() == pytest.approx(1, abs=0.02)


def test_a_run_is_the_same_from_the_same_seed_and_learns(small_graph):
    progress, model = run(small_graph, accepts=40, proposals=400)
    again, twin = run(small_graph, accepts=40, proposals=400)
    losses = [step.loss for step in progress if step.loss is not None]
    assert losses == [step.loss for step in again if step.loss is not None]
    assert all(map(torch.equal, model.parameters(), twin.parameters()))
    assert progress[-1].accepts == len(losses) == 40
    assert progress[-1].proposals == len(progress) < 400
    assert sum(losses[-10:]) < sum(losses[:10])
    progress, _ = run(small_graph, accepts=1000, proposals=7)
    assert [step.proposals for step in progress] == [1, 2, 3, 4, 5, 6, 7]


def test_training_on_subgraphs_sees_the_same_nodes_of_three_graphs(small_graph):
    progress, _ = run(small_graph, accepts=5, proposals=100, sampling=Sampling(roots=4, length=2, samples=3))
    assert progress[-1].accepts == 5
    assert all(math.isfinite(step.loss) for step in progress if step.loss is not None)
    data = data_of(small_graph)
    state = some_state(data.edges)
    views = training.view(data, state), training.view(data, chain.full(data.edges))
    nodes = torch.tensor([3, 7, 20, 21, 59])
    part = induced(data.edges, nodes)
    inside, (current, whole) = training.restricted(data, views, part)
    assert torch.equal(inside.x, data.x[nodes])
    assert torch.equal(current.weight.bool(), state.kept_edges[part.entries])
    assert torch.equal(current.scale, chain.row_scale(state.kept_nodes)[nodes].float())
    assert whole.weight.min() == whole.scale.min() == 1


def no_training_nodes(data, state):
    return data._replace(train=torch.zeros(60, dtype=torch.bool)), state


def nothing_kept(data, state):
    nothing = [torch.zeros_like(kept) for kept in (state.kept_edges, state.kept_nodes)]
    return data, state._replace(kept_edges=nothing[0], kept_nodes=nothing[1])


def isolated_nodes(data, _):
    pair = chain.edges_of(torch.tensor([[0, 1], [1, 0]]), 60)
    return training.data_of(pair, data.x, data.train, data.y), chain.full(pair)


@pytest.mark.parametrize("edit", [no_training_nodes, nothing_kept, isolated_nodes])
def test_edges_of_the_possible_leave_a_finite_loss(small_graph, edit):
    data, model = data_of(small_graph), model_of(small_graph)
    data, state = edit(data, some_state(data.edges))
    view = training.view(data, state)
    optimizer = training.optimizer_of(model, SETTINGS)
    value = training.train_step(model, optimizer, data, (view, view), SETTINGS)
    assert math.isfinite(value)
    assert all(parameter.isfinite().all() for parameter in model.parameters())


def test_one_class_trains(small_graph):
    graph = replace(small_graph, y=torch.zeros(60, dtype=torch.int64), num_classes=1)
    progress, _ = run(graph, accepts=3, proposals=50)
    assert progress[-1].accepts == 3
