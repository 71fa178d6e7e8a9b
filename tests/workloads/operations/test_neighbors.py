"""What samplers draw: its distribution, and what their check must find."""

from dataclasses import replace
from itertools import combinations

import pytest
import torch

from gnnbench.packages import missing_one_of
from gnnbench.workloads.cells import not_installed
from gnnbench.workloads.operations import OPERATIONS, neighbors
from gnnbench.workloads.platforms import PLATFORMS
from gnnbench.workloads.sampled import Hop, require_hop
from gnnbench.workloads.verify import MismatchError
from tests.workloads.draws import (
    DRAWS,
    P,
    between,
    floyd_without_the_last,
    one_by_one,
    p_value,
    sets_by_target,
    uniform,
)

SIZE, COUNT = 6, 3
"""Neighbours that each node has, and how many are drawn."""
WEIGHTS = dict(enumerate((1, 2, 3, 4, 5, 15)))

SAMPLERS = [
    (name, platform)
    for name in ("sample_neighbors", "sample_neighbors_weighted", "sample_blocks")
    for platform in OPERATIONS[name].calls
]


@pytest.fixture
def same_neighbors(small_graph, monkeypatch):
    """DRAWS nodes with the same SIZE neighbours each, of which COUNT are drawn."""
    monkeypatch.setattr(neighbors, "FAN_OUTS", (COUNT,))
    monkeypatch.setattr(neighbors, "BATCH", SIZE + DRAWS)
    return replace(small_graph, edge_index=between(SIZE, DRAWS), x=torch.ones(SIZE + DRAWS, 1))


def draws(case, weights=None):
    """Return the sets of neighbours that an operation draws."""
    kernel = OPERATIONS[case.spec.operation].kernel(case.spec.platform)
    batch = kernel.build(case)
    if weights:
        batch.graph.edata["w"] = torch.tensor(list(weights.values())).float()[case.graph.edge_index[0]]
    hop, *_ = kernel.result(kernel.run(batch), batch)
    found = sets_by_target(hop.source, hop.target)
    assert len(found) == DRAWS
    return found


SETS = uniform(map(frozenset, combinations(range(SIZE), COUNT)))


@pytest.mark.parametrize("operation", ["sample_neighbors", "sample_blocks"])
def test_dgl_draws_each_set_of_neighbors_equally_often(operation, make_case, same_neighbors):
    found = draws(make_case(operation, "dgl", graph=same_neighbors))
    assert p_value(found, SETS) > P
    assert p_value(found, floyd_without_the_last(SIZE, COUNT)) < P


@pytest.mark.parametrize("platform", ["pyg", "sparse"])
def test_torch_sparse_draws_the_last_neighbors_too_seldom(platform, make_case, same_neighbors):
    """A known bug, pytorch_sparse#385; if it is mended, this fails: see docs/operations.md."""
    found = draws(make_case("sample_neighbors", platform, graph=same_neighbors))
    assert p_value(found, floyd_without_the_last(SIZE, COUNT)) > P
    assert p_value(found, SETS) < P


def test_dgl_draws_by_weight(make_case, same_neighbors):
    found = draws(make_case("sample_neighbors_weighted", "dgl", graph=same_neighbors), WEIGHTS)
    assert p_value(found, one_by_one(WEIGHTS, COUNT)) > P
    assert p_value(found, SETS) < P


@pytest.mark.parametrize(("operation", "platform"), SAMPLERS)
def test_each_call_draws_the_same_whatever_was_drawn_before(operation, platform, make_case):
    case = make_case(operation, platform)
    kernel = OPERATIONS[operation].kernel(platform)
    batch = kernel.build(case)
    found = []
    for _ in range(2):
        torch.rand(1)
        (first, *_) = kernel.result(kernel.run(batch), batch)
        found.append(first.entry.sort().values)
    assert torch.equal(*found)


def hop(graph, fan_out):
    """Return the first neighbours of each node."""
    target = graph.edge_index[1]
    first = torch.searchsorted(target, target)
    entry = (torch.arange(len(target)) - first < fan_out).nonzero().squeeze(1)
    return Hop(*graph.edge_index[:, entry], entry, torch.arange(graph.num_nodes))


MUTANTS = {
    "no edge of the graph": (
        "none of the graph's entries",
        lambda h: h._replace(entry=torch.cat((h.entry[:-1], torch.tensor([10_000])))),
    ),
    "another numbering": ("numbered wrongly", lambda h: h._replace(source=(h.source + 1) % 60)),
    "the other direction": (
        "numbered wrongly",
        lambda h: h._replace(source=h.target, target=h.source),
    ),
    "with replacement": (
        "drawn twice",
        lambda h: Hop(*(torch.cat((part[:1], part[:1], part[2:])) for part in h[:3]), h.expanded),
    ),
    "one too few": ("1 neighbours of node 7 instead of 2; so are those of 1", lambda h: without(h, 7)),
    "of other nodes": (
        "2 neighbours of node 7 instead of 0",
        lambda h: h._replace(expanded=h.expanded[h.expanded != 7]),
    ),
}


def without(h, node):
    """Return a hop without one edge to a node."""
    left_out = (h.target == node).nonzero()[0]
    kept = torch.arange(len(h.target)) != left_out
    return Hop(*(part[kept] for part in h[:3]), h.expanded)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_check_finds(mutant, small_graph):
    message, change = MUTANTS[mutant]
    right = hop(small_graph, 2)
    assert require_hop(small_graph, right, 2).max() == 2
    with pytest.raises(MismatchError, match=message):
        require_hop(small_graph, change(right), 2)


RENUMBERED = {
    "a node twice": ("two numbers", lambda o: (torch.cat((o[0], o[0][:1])), *o[1:])),
    "a node too many": ("neither a seed nor", lambda o: (torch.cat((o[0], unused(o[0]))), *o[1:])),
    "neighbours of seeds again": ("wrong draw", lambda o: (o[0], o[1], o[2].clamp(max=1), o[3])),
}


def unused(nodes):
    return torch.tensor([node for node in range(60) if node not in nodes][:1])


@pytest.mark.parametrize("mutant", RENUMBERED)
def test_check_of_renumbered_nodes_finds(mutant, make_case, monkeypatch):
    if reason := not_installed(OPERATIONS["sample_neighbors"], "sparse", "cpu"):
        pytest.skip(reason)
    monkeypatch.setattr(neighbors, "BATCH", 2)
    monkeypatch.setattr(neighbors, "FAN_OUTS", (2, 2))
    case = make_case("sample_neighbors", "sparse")
    kernel = OPERATIONS["sample_neighbors"].kernel("sparse")
    batch = kernel.build(case)
    result, output = neighbors.checked(case, kernel), kernel.run(batch)
    result(output, batch)
    message, change = RENUMBERED[mutant]
    with pytest.raises(MismatchError, match=message):
        result(change(output), batch)


def test_what_needs_one_of_several_packages_says_so(monkeypatch):
    monkeypatch.setattr("gnnbench.packages.is_installed", lambda name: name in PLATFORMS)
    assert missing_one_of(()) is missing_one_of(("absent", "torch")) is None
    assert missing_one_of(("one", "two")) == "none of one, two is installed: pip install two"
    assert missing_one_of(("one",)) == "one is not installed: pip install one"
