"""What all variants share: graph, random numbers, uncertainty; and subgraphs by random walks."""

import numpy as np
import pytest
import torch
from mhaug import chain, saint

from examples.mhaug.tests import dense
from gnnbench.engine.ground.packages import missing
from gnnbench.suite.platforms import PLATFORMS

PATH = chain.edges_of(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 3)
SAMPLING = saint.Sampling(roots=5, length=3)


@pytest.fixture(scope="module")
def edges(small_graph):
    return chain.edges_of(small_graph.edge_index, small_graph.num_nodes)


def test_random_numbers_are_uniform_and_ranks_are_permutations():
    generator = torch.Generator().manual_seed(0)
    drawn = [chain.draw(PATH, generator) for _ in range(3000)]
    uniform = torch.stack([torch.cat((one.uniform, one.accept)) for one in drawn])
    torch.testing.assert_close(uniform.mean(0), torch.full((3,), 0.5).double(), atol=0.02, rtol=0)
    assert uniform.T.corrcoef().triu(1).abs().max() < 0.05
    for ranks, ways in (([one.edge_rank for one in drawn], 24), ([one.node_rank for one in drawn], 6)):
        counts = torch.stack(ranks).unique(dim=0, return_counts=True)[1]
        assert len(counts) == ways
        assert counts.min() > 0.7 * len(drawn) / ways


def test_loops_and_duplicates_are_not_counted():
    messy = torch.tensor([[0, 1, 1, 2, 2, 1, 0], [1, 0, 2, 1, 2, 0, 0]])
    edges = chain.edges_of(messy, 3)
    assert edges.source.tolist() == PATH.source.tolist()
    assert edges.target.tolist() == PATH.target.tolist() == sorted(PATH.target.tolist())


def test_uncertainty_is_the_normalised_entropy():
    logits = 3 * torch.randn(40, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    np.testing.assert_allclose(chain.uncertainty(logits), dense.uncertainty(logits), rtol=1e-12)
    tie_and_sure = torch.tensor([[3.0, 3.0, 3.0], [0.0, 5000.0, 0.0]])
    assert chain.uncertainty(tie_and_sure).tolist() == pytest.approx([1, 0])
    assert chain.uncertainty(torch.randn(5, 1)).tolist() == [0] * 5, "of one class"


@pytest.mark.parametrize("library", ["sparse", "dgl"])
def test_sampled_nodes_follow_the_generator(edges, library, monkeypatch):
    if reason := missing(PLATFORMS[library].packages):
        pytest.skip(reason)
    if library == "dgl":
        monkeypatch.setattr(saint, "missing", lambda _: "torch_sparse is not there")
    sample = saint.node_sampler(edges, SAMPLING)
    monkeypatch.setattr(torch.cuda, "manual_seed_all", lambda _: pytest.fail("the GPU's are the user's"))
    before = torch.random.get_rng_state()
    first, again, other = (sample(torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(before, torch.random.get_rng_state())
    assert first.tolist() == sorted(set(first.tolist()))
    assert 0 <= first.min() <= first.max() < edges.num_nodes
    assert len(first) > 5


def test_walks_from_nodes_without_a_neighbour_stay_there(edges):
    alone = chain.edges_of(torch.tensor([[0, 1], [1, 0]]), 1000)
    for seed in range(20):
        nodes = saint.node_sampler(alone, SAMPLING)(torch.Generator().manual_seed(seed))
        assert 0 <= nodes.min() <= nodes.max() < 1000
    assert saint.walkable(alone).size(1) == 2 + 998
    assert saint.walkable(edges)[:, -1].tolist() == [59, 59]


def test_induced_subgraph_has_what_lies_between_its_nodes(edges):
    nodes = torch.tensor([3, 7, 20, 21, 59])
    part = saint.induced(edges, nodes)
    pairs = set(zip(nodes[part.edges.source].tolist(), nodes[part.edges.target].tolist(), strict=True))
    every = zip(edges.source.tolist(), edges.target.tolist(), strict=True)
    assert pairs == {pair for pair in every if {*pair} <= set(nodes.tolist())}
    assert torch.equal(edges.source[part.entries], nodes[part.edges.source])
    assert part.edges.num_nodes == 5
    for nodes in ([], [59]):  # which has no edge
        empty = saint.induced(edges, torch.tensor(nodes, dtype=torch.int64))
        assert (empty.edges.num_edges, empty.edges.num_nodes) == (0, len(nodes))
