"""Every variant: its quantities against dense matrices, at each step of a walk."""

import numpy as np
import pytest
import torch
from mhaug import chain, workloads
from mhaug.settings import Part, Settings

from examples.mhaug.tests import dense
from tests.sampling import nightly

VARIANTS = [
    pytest.param(name, platform, id=f"{name}-{platform}")
    for name in ("published", "profiled", "optimised", "compiled")
    for platform in workloads.PLATFORMS[name]
]
SLOW_NIGHTLY = [nightly(case) if case.values[0] == "compiled" else case for case in VARIANTS]
"""To compile takes seconds for each of the settings; test_workloads.py compiles some by day."""
WIDE = Settings(
    edges=Part(mean=0.6, sigma=0.3, scale=10.0), nodes=Part(mean=0.2, sigma=0.2, scale=7.0), count_weight=0.5
)
"""Moves far in a few steps, every term counts, and no two of the constants of edges and nodes are equal."""
FLAT = WIDE._replace(edges=WIDE.edges._replace(weight=0.0), nodes=WIDE.nodes._replace(weight=0.0))
"""Without a target: acceptance is the ratio of the proposal's densities."""


def walk(graph, variant, platform, settings, steps):
    """Yield the state before, the random numbers and the proposal of each step of a chain."""
    edges = chain.edges_of(graph.edge_index, graph.num_nodes)
    generator = torch.Generator().manual_seed(0)
    h = chain.uncertainty(torch.randn(graph.num_nodes, graph.num_classes, generator=generator).double() * 3)
    start, propose = workloads.prepare(variant, platform, edges, graph.x, settings)
    state = start
    for _ in range(steps):
        draws = chain.draw(edges, generator)
        proposal = propose(state, draws, h)
        yield edges, h, state, draws, proposal
        if proposal.accepted:
            state = proposal.state


@pytest.mark.parametrize(
    ("variant", "platform", "settings"),
    [
        pytest.param(*case.values, settings, id=f"{name}-{case.id}", marks=case.marks)
        for name, settings in (("wide", WIDE), ("published", Settings()), ("flat", FLAT))
        for case in SLOW_NIGHTLY
    ],
)
def test_every_quantity_is_that_of_dense_matrices(small_graph, variant, platform, settings):
    accepted = 0
    for edges, h, state, draws, proposal in walk(small_graph, variant, platform, settings, 30):
        counts = edges.num_edges, edges.num_nodes
        drop = dense.drop_counts(state.dropped.tolist(), draws.uniform.tolist(), counts, settings)
        kept = [
            (rank < count - gone).numpy()
            for rank, count, gone in zip((draws.edge_rank, draws.node_rank), counts, drop, strict=True)
        ]
        assert np.array_equal(proposal.state.kept_edges, kept[0])
        assert np.array_equal(proposal.state.kept_nodes, kept[1])
        at, to = state.dropped.tolist(), [gone / count for gone, count in zip(drop, counts, strict=True)]
        np.testing.assert_allclose(proposal.state.dropped, to, atol=1e-12)
        before = dense.changes(edges, state.kept_edges, state.kept_nodes)
        after = dense.changes(edges, *kept)
        np.testing.assert_allclose(proposal.state.changes, after, atol=1e-12)
        targets = [dense.log_target(each, h.numpy(), settings) for each in (before, after)]
        np.testing.assert_allclose(proposal.log_target, targets, rtol=1e-9, atol=1e-9)
        densities = [dense.log_proposal(*each, counts, settings) for each in ((to, at), (at, to))]
        np.testing.assert_allclose(proposal.log_density, densities, rtol=1e-9, atol=1e-9)
        probability = min(1.0, np.exp(targets[1] - targets[0] - densities[0] + densities[1]))
        assert bool(proposal.accepted) == (draws.accept.item() < probability)
        accepted += bool(proposal.accepted)
    assert 0 < accepted < 30


def with_dropped(edges, *gone):
    """Return the state in which so many edges and nodes are dropped, the first by number."""
    counts = edges.num_edges, edges.num_nodes
    kept = [torch.arange(count) >= dropped for count, dropped in zip(counts, gone, strict=True)]
    fractions = [dropped / count for count, dropped in zip(counts, gone, strict=True)]
    changes = torch.from_numpy(dense.changes(edges, *kept))
    return chain.State(*kept, torch.tensor(fractions, dtype=torch.float64), changes)


def proposals(variant, platform, edges, x, settings, h, start=None):
    """Yield five proposals from one state."""
    state, propose = workloads.prepare(variant, platform, edges, x, settings, start)
    for seed in range(5):
        yield propose(state, chain.draw(edges, torch.Generator().manual_seed(seed)), h)


@pytest.mark.parametrize(("variant", "platform"), SLOW_NIGHTLY)
@pytest.mark.parametrize("sigma", [1e-9, 0.03, 1e6], ids=["narrow", "default", "flat"])
def test_the_ends_of_the_range_give_finite_numbers(small_graph, variant, platform, sigma):
    edges = chain.edges_of(small_graph.edge_index, small_graph.num_nodes)
    settings = Settings(edges=Part(0.6, sigma=sigma), nodes=Part(0.2, sigma=sigma), count_weight=1.0)
    h = torch.zeros(edges.num_nodes, dtype=torch.float64)
    for gone in ((0, 0), (edges.num_edges, edges.num_nodes)):
        start = with_dropped(edges, *gone)
        for proposal in proposals(variant, platform, edges, small_graph.x, settings, h, start):
            assert proposal.log_target.isfinite().all()
            assert proposal.log_density.isfinite().all()
            assert ((proposal.state.dropped >= 0) & (proposal.state.dropped <= 1)).all()
            assert proposal.state.changes.isfinite().all()


@pytest.mark.parametrize(("variant", "platform"), SLOW_NIGHTLY)
def test_densities_beyond_the_range_of_float32_are_no_trouble(small_graph, variant, platform):
    """A target of e**-10000 and less, which underflows, decides by its logarithm; h may be float32."""
    edges = chain.edges_of(small_graph.edge_index, small_graph.num_nodes)
    steep = Part(mean=0.6, sigma=0.3, scale=0.0, offset=0.005)
    settings = Settings(edges=steep, nodes=steep)
    changes = dense.changes(edges, *([True] * count for count in (edges.num_edges, edges.num_nodes)))
    expected = dense.log_target(changes, np.zeros(60), settings)
    assert expected < -10_000
    for proposal in proposals(variant, platform, edges, small_graph.x, settings, torch.zeros(60)):
        assert proposal.log_target[0].item() == pytest.approx(expected, rel=1e-6)
        assert proposal.log_target.dtype == torch.float64
