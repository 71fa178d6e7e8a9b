"""Which pairs are drawn as negative examples, and what their check must find."""

from dataclasses import replace
from fractions import Fraction

import pytest
import torch

from gnnbench.workloads import platforms
from gnnbench.workloads.operations import OPERATIONS, negative_sampling
from gnnbench.workloads.verify import MismatchError, verify
from tests.workloads.draws import DRAWS, P, p_value, uniform
from tests.workloads.test_operations import workload_of

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


MUTANTS = {
    "edges": lambda pairs, edges: torch.cat((pairs[:, 1:], edges[:, :1]), 1),
    "a loop": lambda pairs, _: torch.cat((pairs[:, 1:], torch.tensor([[4], [4]])), 1),
    "a pair twice": lambda pairs, _: torch.cat((pairs[:, 1:], pairs[:, 1:2]), 1),
    "too few": lambda pairs, _: pairs[:, 1:],
    "another node": lambda pairs, _: torch.cat((pairs[:, 1:], torch.tensor([[4], [60]])), 1),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_check_finds(mutant, make_case, small_graph):
    case, module = make_case("negative_sampling", "pyg"), platforms.load("pyg")
    run, inputs, result = workload_of(case, module)

    def wrong(given):
        return MUTANTS[mutant](run(given), small_graph.edge_index)

    verify(case, module, run, inputs, negative_sampling.reference, result=result)
    with pytest.raises(MismatchError, match="wrong"):
        verify(case, module, wrong, inputs, negative_sampling.reference, result=result)
