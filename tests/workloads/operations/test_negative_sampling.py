"""Which pairs are drawn as negative examples."""

from dataclasses import replace
from fractions import Fraction

import pytest
import torch

from gnnbench.workloads.operations import OPERATIONS, negative_sampling
from tests.workloads.draws import DRAWS, P, p_value, uniform

NODES, PART = 1200, 300


@pytest.mark.parametrize("platform", OPERATIONS["negative_sampling"].calls)
def test_each_pair_without_an_edge_is_drawn_equally_often(platform, make_case, small_graph, monkeypatch):
    """Half of the pairs within the first quarter of the nodes have an edge; quarters are counted."""
    monkeypatch.setattr(negative_sampling, "PAIRS", DRAWS)
    first = torch.arange(PART)
    pairs = torch.cartesian_prod(first, first).t()
    edges = pairs[:, (pairs.sum(dim=0) % 2 == 1)].flip(0)
    graph = replace(small_graph, edge_index=edges, x=torch.ones(NODES, 1))
    kernel = OPERATIONS["negative_sampling"].kernel(platform)
    drawn = kernel.run(kernel.build(make_case("negative_sampling", platform, graph=graph)))
    found = list(map(tuple, (drawn // PART).t().tolist()))
    assert len(found) == DRAWS
    free = {(one, other): PART**2 - PART * (one == other) for one in range(4) for other in range(4)}
    free[0, 0] -= edges.size(1)
    total = sum(free.values())
    assert p_value(found, {part: Fraction(count, total) for part, count in free.items()}) > P
    assert p_value(found, uniform(free)) < P
