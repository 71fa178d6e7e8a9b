"""What samplers draw: its distribution, that it is the same again, and what its check must find."""

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
import torch
from scipy import stats

from gnnbench.suite.accuracy import MismatchError
from gnnbench.suite.operations import OPERATIONS, neighbors, random_walk
from gnnbench.suite.sampled import Hop, require_hop

DRAWS = 10_000
P = 1e-6
"""A right distribution has a smaller p-value once in a million tests; these are seeded."""
SIZE, COUNT = 6, 3
"""Neighbours that each node has, and how many are drawn."""
WEIGHTS = dict(enumerate((1, 2, 3, 4, 5, 15)))
REPLACED = sum(
    (Counter({frozenset(draw): Fraction(1, SIZE**COUNT)}) for draw in product(range(SIZE), repeat=COUNT)),
    Counter(),
)


def by_weight(weights):
    """Return the probability of each set of COUNT that is drawn one by one, without replacement."""
    sets = Counter({frozenset(): Fraction(1)})
    for _ in range(COUNT):
        larger = Counter()
        for chosen, probability in sets.items():
            others = {number: weight for number, weight in weights.items() if number not in chosen}
            for number, weight in others.items():
                larger[chosen | {number}] += probability * Fraction(weight, sum(others.values()))
        sets = larger
    return sets


SETS = by_weight(dict.fromkeys(WEIGHTS, 1))


def p_value(drawn, probabilities):
    """Return the p-value of Pearson's chi-square test, 0 if an outcome is impossible."""
    counts = Counter(drawn)
    if not counts.keys() <= probabilities.keys():
        return 0.0
    assert sum(probabilities.values()) == 1
    expected = [float(probability) * counts.total() for probability in probabilities.values()]
    assert min(expected) >= 5, "chi-square needs more draws"
    return stats.chisquare([counts[outcome] for outcome in probabilities], expected).pvalue


def kernel_of(case):
    kernel = OPERATIONS[case.spec.operation].kernel(case.spec.platform)
    return kernel, kernel.build(case)


def calls(*operations):
    """Parametrise by operation and platform."""
    found = [(name, platform) for name in operations for platform in OPERATIONS[name].calls]
    return pytest.mark.parametrize(("operation", "platform"), found)


@pytest.fixture
def same_neighbors(small_graph, monkeypatch):
    """DRAWS nodes with the same SIZE neighbours each, of which COUNT are drawn."""
    monkeypatch.setattr(neighbors, "FAN_OUTS", (COUNT,))
    monkeypatch.setattr(neighbors, "BATCH", SIZE + DRAWS)
    target = torch.arange(SIZE, SIZE + DRAWS).repeat_interleave(SIZE)
    edges = torch.stack((torch.arange(SIZE).repeat(DRAWS), target))
    return replace(small_graph, edge_index=edges, x=torch.ones(SIZE + DRAWS, 1))


@pytest.mark.parametrize(
    ("operation", "platform", "right", "wrong"),
    [
        ("sample_neighbors_weighted", "dgl", by_weight(WEIGHTS), SETS),
        *(("sample_neighbors_replaced", platform, REPLACED, SETS) for platform in ("pyg", "sparse", "dgl")),
    ],
)
def test_sets_have_their_probability(make_case, same_neighbors, operation, platform, right, wrong):
    case = make_case(operation, platform, graph=same_neighbors)
    kernel, batch = kernel_of(case)
    if operation == "sample_neighbors_weighted":
        weights = torch.tensor(list(WEIGHTS.values())).float()
        batch.graph.edata["w"] = weights[case.graph.edge_index[0]]
    hop, *_ = kernel.result(kernel.run(batch), batch)
    sets = defaultdict(set)
    for neighbour, node in zip(hop.source.tolist(), hop.target.tolist(), strict=True):
        sets[node].add(neighbour)
    found = [*map(frozenset, sets.values())]
    assert len(found) == DRAWS
    assert p_value(found, right) > P
    assert p_value(found, wrong) < P


EDGES = {0: (1, 2, 3), 1: (0, 2), 2: (0, 1, 3), 3: (0, 2, 4, 5), 4: (3,), 5: (3,)}
"""By node, its neighbours: a triangle, another, and two ends."""


@calls("random_walk")
def test_walks_go_each_way_as_often_as_they_should(make_case, small_graph, monkeypatch, operation, platform):
    """On a graph of six nodes, three steps from the first."""
    pairs = sorted((target, source) for source, targets in EDGES.items() for target in targets)
    target, source = torch.tensor(pairs).t()
    monkeypatch.setattr(random_walk, "LENGTH", 3)
    graph = replace(small_graph, edge_index=torch.stack((source, target)), x=torch.ones(6, 1))
    kernel, structure = kernel_of(make_case(operation, platform, graph=graph))
    from_first = structure._replace(nodes=torch.zeros(DRAWS, dtype=torch.int64))
    found = list(map(tuple, kernel.run(from_first).tolist()))
    assert len(found) == DRAWS
    right = {(0,): Fraction(1)}
    for _ in range(3):
        right = {
            (*walk, node): probability / len(EDGES[walk[-1]])
            for walk, probability in right.items()
            for node in EDGES[walk[-1]]
        }
    assert p_value(found, right) > P
    assert p_value(found, dict.fromkeys(right, Fraction(1, len(right)))) < P


@calls("sample_neighbors", "sample_neighbors_replaced", "sample_neighbors_weighted", "random_walk")
def test_each_call_draws_the_same_whatever_was_drawn_before(make_case, operation, platform):
    kernel, batch = kernel_of(make_case(operation, platform))
    found = []
    for _ in range(2):
        torch.rand(1)
        drawn = kernel.run(batch)
        if kernel.result:
            drawn = kernel.result(drawn, batch)[0].entry.sort().values
        found.append(drawn)
    assert torch.equal(*found)


FIRST = torch.tensor([0])


def without(h, node):
    kept = torch.arange(len(h.target)) != (h.target == node).nonzero()[0]
    return Hop(*(part[kept] for part in h[:3]), h.expanded)


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("an edge is not in the graph", lambda h: h._replace(entry=h.entry.index_fill(0, FIRST, 10_000))),
        ("numbered wrongly", lambda h: h._replace(source=(h.source + 1) % 60)),
        ("numbered wrongly", lambda h: h._replace(target=(h.target + 1) % 60)),
        ("drawn twice", lambda h: Hop(*(part.index_copy(0, FIRST, part[1:2]) for part in h[:3]), h.expanded)),
        ("1 neighbours of node 7, not 2; 1 nodes have a wrong number of them", lambda h: without(h, 7)),
        ("2 neighbours of node 7, not 0", lambda h: h._replace(expanded=h.expanded[h.expanded != 7])),
    ],
)
def test_a_wrong_hop_is_found(small_graph, message, change):
    target = small_graph.edge_index[1]
    entry = (torch.arange(len(target)) - torch.searchsorted(target, target) < 2).nonzero().squeeze(1)
    right = Hop(*small_graph.edge_index[:, entry], entry, torch.arange(60))
    assert require_hop(small_graph, right, 2).max() == 2
    with pytest.raises(MismatchError, match=message):
        require_hop(small_graph, change(right), 2)


def with_unused(nodes):
    return torch.cat((nodes, torch.tensor([node for node in range(60) if node not in nodes][:1])))


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("numbered twice", lambda o: (torch.cat((o[0], o[0][:1])), *o[1:])),
        ("neither a seed nor", lambda o: (with_unused(o[0]), *o[1:])),
        ("wrong draw", lambda o: (o[0], o[1], o[2].clamp(max=1), o[3])),
    ],
)
def test_wrong_numbers_of_drawn_nodes_are_found(make_case, monkeypatch, message, change):
    monkeypatch.setattr(neighbors, "BATCH", 2)
    monkeypatch.setattr(neighbors, "FAN_OUTS", (2, 2))
    case = make_case("sample_neighbors", "sparse")
    kernel, batch = kernel_of(case)
    output = kernel.run(batch)
    neighbors.check(case, kernel, output, batch)
    with pytest.raises(MismatchError, match=message):
        neighbors.check(case, kernel, change(output), batch)
