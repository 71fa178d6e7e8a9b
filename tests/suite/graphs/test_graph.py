from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.ground.errors import UsageError
from gnnbench.suite.graphs.graph import Graph
from gnnbench.suite.graphs.published import Relation, reverses

NODES = 5
CITES, WRITES = Relation("paper", "cites", "paper"), Relation("author", "writes", "paper")
RELATIONS = (CITES, WRITES, WRITES.reverse)
SIZES = {"paper": 3, "author": 2}


def build(source, target, name="g", x=None, **types):
    nodes = np.arange(NODES)
    x = np.ones((NODES, 2), dtype=np.float32) if x is None else x
    ends = (np.array(end, dtype=np.int64) for end in (source, target))
    parts = nodes[:2], nodes[2:3], nodes[3:]
    return Graph.build(name, *ends, x, np.zeros(NODES, dtype=np.int64), 2, *parts, synthetic=True, **types)


def typed(triples, relations=RELATIONS):
    """Papers 0 to 2, authors 3 and 4; triples of source, position of the relation, and target."""
    source, edge_type, target = (list(column) for column in zip(*triples, strict=True))
    positions = np.array(edge_type, dtype=np.int64)
    return build(source, target, edge_type=positions, relations=relations, type_sizes=SIZES)


def triples(graph):
    source, target = graph.edge_index
    return list(zip(source.tolist(), graph.edge_type.tolist(), target.tolist(), strict=True))


@given(st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=30))
def test_edges_are_simple_symmetric_and_in_row_order(edges):
    graph = build([s for s, _ in edges], [t for _, t in edges])
    entries = [(t, s) for s, t in graph.edge_index.T.tolist()]
    assert entries == sorted({pair for s, t in edges if s != t for pair in ((s, t), (t, s))})


def test_each_relation_has_its_reverse_or_is_its_own():
    assert WRITES.reverse == ("paper", "rev_writes", "author")
    assert (WRITES.is_reverse, WRITES.reverse.is_reverse) == (False, True)
    assert reverses([WRITES.reverse, CITES, WRITES]) == [2, 1, 0]
    assert reverses([WRITES, CITES, CITES.reverse]) == [0, 2, 1]
    assert reverses([]) == []


def test_each_edge_has_its_relation_and_its_reverse_the_reverse_relation():
    graph = typed([(3, 1, 0), (4, 1, 2), (0, 0, 1), (1, 0, 0), (0, 0, 0), (3, 1, 0)])
    expected = {(3, 1, 0), (0, 2, 3), (4, 1, 2), (2, 2, 4), (0, 0, 1), (1, 0, 0)}
    assert set(triples(graph)) == expected
    assert graph.num_edges == len(expected)
    assert (graph.edge_index[1].diff() >= 0).all()
    assert graph.node_type.tolist() == [0, 0, 0, 1, 1], "nodes of a type are contiguous"
    assert graph.type_sizes == SIZES
    assert build([0], [1]).type_sizes == {"node": NODES}


def test_two_nodes_may_have_several_relations():
    extends = Relation("paper", "extends", "paper")
    graph = typed([(0, 0, 1), (0, 1, 1), (1, 1, 0)], (CITES, extends, extends.reverse))
    assert triples(graph) == [(1, 0, 0), (1, 1, 0), (1, 2, 0), (0, 0, 1), (0, 1, 1), (0, 2, 1)]


def test_a_part_keeps_its_types_and_is_of_one_graph():
    graph = typed([(3, 1, 0), (4, 1, 2), (0, 0, 2)])
    into_two = (graph.edge_index[1] == 2).nonzero().squeeze(1)
    part = graph.part(torch.tensor([0, 2, 4]), into_two)
    assert part.node_type.tolist() == [0, 0, 1]
    assert part.type_sizes == {"paper": 2, "author": 1}
    assert triples(part) == [(0, 0, 1), (2, 1, 1)]
    assert part.relations == RELATIONS
    several = build([0, 3], [1, 4], sizes=np.array([2, 3]))
    assert several.sizes.tolist() == [2, 3]
    assert several.part(torch.arange(2), torch.arange(2)).sizes is None


def test_content_decides_the_hash_and_the_name_does_not():
    assert build([0], [1], "a").content_hash == build([1], [0], "b").content_hash
    graph = typed([(0, 0, 1), (1, 0, 2)])
    without = replace(graph, edge_type=None, relations=(), node_type=None, node_types=("node",))
    assert without.content_hash == build([0, 1], [1, 2]).content_hash == "f66d143e3eb95c8e"
    others = [
        without,
        graph,
        build([0, 1], [1, 3]),
        build([0, 1], [1, 2], sizes=np.array([3, 2])),
        replace(graph, edge_type=graph.edge_type + 1),
        replace(graph, node_type=graph.node_type.clamp(max=0)),
        replace(graph, relations=(*RELATIONS, CITES.reverse)),
    ]
    assert len({one.content_hash for one in others}) == len(others)


def test_arrays_that_cannot_be_written_are_copied():
    x = np.ones((NODES, 2), dtype=np.float32)
    x.flags.writeable = False
    graph = build([0], [1], x=x)
    graph.x.zero_()
    assert x.all()
    assert graph.test_mask.tolist() == [False, False, False, True, True]
    assert graph.x.dtype == torch.float32


def test_bad_input_is_one_line():
    for node, ends in ((5, ([0, 5], [1, 1])), (-1, ([0], [-1]))):
        with pytest.raises(UsageError, match=f"g: an edge has node {node}, outside 0..4"):
            build(*ends)
