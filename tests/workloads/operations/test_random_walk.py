"""Where random walks go."""

from dataclasses import replace
from fractions import Fraction

import pytest
import torch

from gnnbench.workloads.operations import OPERATIONS, random_walk
from tests.workloads.draws import DRAWS, P, p_value

EDGES = {0: (1, 2, 3), 1: (0, 2), 2: (0, 1, 3), 3: (0, 2, 4, 5), 4: (3,), 5: (3,)}
"""By node, its neighbours: a triangle, another, and two ends."""

WALKERS = [(name, one) for name in ("random_walk", "node2vec_walk") for one in OPERATIONS[name].calls]


def probabilities(p, q, start=0, length=3):
    """Return the probability of each walk (Grover and Leskovec, KDD 2016, section 3.2)."""
    found = {(start,): Fraction(1)}
    for _ in range(length):
        after = {}
        for walk, probability in found.items():
            weights = dict.fromkeys(EDGES[walk[-1]], Fraction(1))
            for one in weights if len(walk) > 1 else ():
                if one == walk[-2]:
                    weights[one] = 1 / Fraction(p)
                elif one not in EDGES[walk[-2]]:
                    weights[one] = 1 / Fraction(q)
            total = sum(weights.values())
            after |= {(*walk, one): probability * weight / total for one, weight in weights.items()}
        found = after
    return found


@pytest.fixture
def walked(small_graph, monkeypatch):
    """A graph of six nodes; DRAWS walks of three steps start at the first."""
    pairs = sorted((target, source) for source, targets in EDGES.items() for target in targets)
    target, source = torch.tensor(pairs).t()
    monkeypatch.setattr(random_walk, "starts", lambda _graph: torch.zeros(DRAWS, dtype=torch.int64))
    monkeypatch.setattr(random_walk, "LENGTH", 3)
    return replace(small_graph, edge_index=torch.stack((source, target)), x=torch.ones(6, 1))


@pytest.mark.parametrize(("operation", "platform"), WALKERS)
def test_walks_go_each_way_as_often_as_they_should(operation, platform, make_case, walked):
    kernel = OPERATIONS[operation].kernel(platform)
    walks = kernel.run(kernel.build(make_case(operation, platform, graph=walked)))
    found = list(map(tuple, walks.tolist()))
    assert len(found) == DRAWS
    weighed, plain = probabilities(random_walk.P, random_walk.Q), probabilities(1, 1)
    right, wrong = (weighed, plain) if operation == "node2vec_walk" else (plain, weighed)
    assert p_value(found, right) > P
    assert p_value(found, wrong) < P


@pytest.mark.parametrize(("operation", "platform"), WALKERS)
def test_each_call_walks_the_same_ways(operation, platform, make_case):
    kernel = OPERATIONS[operation].kernel(platform)
    batch = kernel.build(make_case(operation, platform))
    first = kernel.run(batch)
    torch.rand(1)
    assert torch.equal(first, kernel.run(batch))
