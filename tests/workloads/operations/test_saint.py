"""Which nodes GraphSAINT draws, and what the check of its subgraph must find."""

from dataclasses import replace
from fractions import Fraction

import pytest
import torch

from gnnbench.workloads.operations import OPERATIONS, saint
from gnnbench.workloads.verify import MismatchError
from tests.workloads.cells import workload_of
from tests.workloads.draws import DRAWS, P, p_value, uniform

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


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda nodes, edges: (nodes, edges[:, 1:]), id="an edge less"),
        pytest.param(lambda nodes, edges: (nodes, torch.cat((edges, edges[:, :1]), 1)), id="an edge twice"),
        pytest.param(lambda nodes, edges: (nodes, edges.roll(1, dims=1).flip(0) * 0), id="other ends"),
        pytest.param(lambda nodes, edges: (nodes, nodes[edges].clamp(max=len(nodes) - 1)), id="old numbers"),
        pytest.param(lambda nodes, edges: (torch.cat((nodes, nodes[:1])), edges), id="a node twice"),
        pytest.param(lambda _, edges: (torch.arange(60), edges), id="too many nodes"),
    ],
)
def test_a_wrong_subgraph_is_found(change, make_case, monkeypatch):
    monkeypatch.setattr(saint, "ROOTS", 10)
    case = make_case("saint_walk", "dgl")
    kernel = OPERATIONS["saint_walk"].kernel("dgl")
    workload = workload_of(case)
    for one in (lambda *output: output, change):
        changed = kernel._replace(result=lambda *given, one=one: one(*kernel.result(*given)))
        checked = replace(workload, result=saint.checked(case, changed))
        if one is change:
            with pytest.raises(MismatchError, match="wrong"):
                checked.verify()
        else:
            checked.verify()
