"""Subgraphs by random walks, from either library."""

import pytest
import torch

from gnnbench.packages import missing
from gnnbench.workloads.mhaug import chain, saint
from gnnbench.workloads.platforms import PLATFORMS

SAMPLING = saint.Sampling(roots=5, length=3)


@pytest.fixture(scope="module")
def edges(small_graph):
    return chain.edges_of(small_graph.edge_index, small_graph.num_nodes)


@pytest.mark.parametrize("library", ["sparse", "dgl"])
def test_sampled_nodes_follow_the_generator(edges, library, monkeypatch):
    if reason := missing(PLATFORMS[library].packages):
        pytest.skip(reason)
    if library == "dgl":
        monkeypatch.setattr(saint, "missing", lambda _: "torch_sparse is not there")
    sample = saint.node_sampler(edges, SAMPLING)
    monkeypatch.setattr(
        torch.cuda, "manual_seed_all", lambda _: pytest.fail("a GPU's numbers are the user's")
    )
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
    inside = set(nodes.tolist())
    every = zip(edges.source.tolist(), edges.target.tolist(), strict=True)
    assert pairs == {(u, v) for u, v in every if u in inside and v in inside}
    assert torch.equal(edges.source[part.entries], nodes[part.edges.source])
    assert part.edges.num_nodes == 5


def test_no_node_and_no_edge_make_an_empty_subgraph(edges):
    part = saint.induced(edges, torch.tensor([], dtype=torch.int64))
    assert part.edges.num_edges == part.edges.num_nodes == 0
    alone = saint.induced(edges, torch.tensor([59]))
    assert (alone.edges.num_edges, alone.edges.num_nodes) == (0, 1)
