"""Which nodes GraphSAINT draws, and what the check of its subgraph must find."""

from dataclasses import replace
from fractions import Fraction

import pytest
import torch

from gnnbench.workloads import platforms
from gnnbench.workloads.operations import OPERATIONS, saint
from gnnbench.workloads.verify import MismatchError, verify
from tests.workloads.draws import DRAWS, P, p_value, uniform
from tests.workloads.test_operations import workload_of

HUBS, LEAVES = 200_000, 3


@pytest.mark.parametrize("platform", OPERATIONS["saint_walk"].calls)
def test_walks_start_anywhere_and_go_anywhere(platform, make_case, small_graph, monkeypatch):
    """From each of many hubs an edge leads to three leaves; a walk of one step shows where it began."""
    monkeypatch.setattr(saint, "ROOTS", 8 * DRAWS)
    monkeypatch.setattr(saint, "LENGTH", 1)
    leaves = torch.arange(HUBS, HUBS * (1 + LEAVES))
    entries = torch.stack((torch.arange(HUBS).repeat_interleave(LEAVES), leaves))
    graph = replace(small_graph, edge_index=entries, x=torch.ones(HUBS * (1 + LEAVES), 1))
    kernel = OPERATIONS["saint_walk"].kernel(platform)
    structure = kernel.build(make_case("saint_walk", platform, graph=graph))
    nodes, _ = kernel.result(kernel.run(structure), structure)
    drawn = torch.zeros(graph.num_nodes, dtype=torch.bool).index_fill(0, nodes, True)
    reached = drawn[HUBS:].view(HUBS, LEAVES)
    alone = (drawn[:HUBS] & (reached.sum(dim=1) == 1)).nonzero().squeeze(1)
    assert len(alone) >= DRAWS, "some walks start at leaves, and some where another did"
    quarter, leaf = alone * 4 // HUBS, reached[alone].int().argmax(dim=1)
    found = list(zip(quarter.tolist(), leaf.tolist(), strict=True))
    right = uniform((one, other) for one in range(4) for other in range(LEAVES))
    assert p_value(found, right) > P
    skewed = {(one, other): Fraction(2 if one else 1, 21) for one, other in right}
    assert p_value(found, skewed) < P


MUTANTS = {
    "an edge less": lambda nodes, edges: (nodes, edges[:, 1:]),
    "an edge twice": lambda nodes, edges: (nodes, torch.cat((edges, edges[:, :1]), 1)),
    "other ends": lambda nodes, edges: (nodes, edges.roll(1, dims=1).flip(0) * 0),
    "old numbers": lambda nodes, edges: (nodes, nodes[edges].clamp(max=len(nodes) - 1)),
    "a node twice": lambda nodes, edges: (torch.cat((nodes, nodes[:1])), edges),
    "too many nodes": lambda _, edges: (torch.arange(60), edges),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_check_finds(mutant, make_case, monkeypatch):
    monkeypatch.setattr(saint, "ROOTS", 10)
    module = platforms.load("dgl")
    case = make_case("saint_walk", "dgl")
    run, inputs, _ = workload_of(case, module)
    kernel = OPERATIONS["saint_walk"].kernel("dgl")
    for change in (lambda *output: output, MUTANTS[mutant]):
        changed = kernel._replace(result=lambda *one, change=change: change(*kernel.result(*one)))
        check = saint.checked(case, changed)
        if change is MUTANTS[mutant]:
            with pytest.raises(MismatchError, match="wrong"):
                verify(case, module, run, inputs, saint.reference, result=check)
        else:
            verify(case, module, run, inputs, saint.reference, result=check)
