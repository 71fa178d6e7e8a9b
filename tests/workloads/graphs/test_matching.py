"""What stand-ins are made with: random numbers, and edges from wanted degrees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.workloads.graphs import matching
from gnnbench.workloads.graphs.stream import Stream


@given(st.integers(1, 300), st.integers(1, 5000))
def test_degrees_add_up_exactly(nodes, total):
    ascending = matching.citation_degrees(nodes, total, 10**9)
    descending = matching.power_law_degrees(nodes, total)
    for degrees in (ascending, descending):
        assert (len(degrees), degrees.sum(), degrees.min() >= 0) == (nodes, total, True)


@pytest.mark.parametrize(("ones", "others"), [([3, 2, 1], [1, 1, 1, 3]), ([30] * 40, [60] * 20 + [0] * 60)])
def test_stubs_of_two_types_become_simple_edges(ones, others):
    one, other = matching.match_between(Stream(1), np.array(ones), np.array(others))
    assert len(one) == len(other) == sum(ones)
    assert one.max() < len(ones)
    assert other.max() < len(others)
    assert len(set(zip(one.tolist(), other.tolist(), strict=True))) == len(one)


@given(st.integers(1, 2**32 - 1), st.integers(0, 9))
def test_below_is_below(bound, seed):
    drawn = Stream(seed).below(bound, 50)
    assert ((drawn >= 0) & (drawn < bound)).all()


@given(st.lists(st.integers(0, 6), min_size=1, max_size=60))
def test_groups_are_sorted_and_nothing_is_lost(groups):
    group = np.array(groups, dtype=np.int64)
    order = Stream(0).shuffled_groups(group, 7)
    assert sorted(order.tolist()) == list(range(len(groups)))
    assert (np.diff(group[order]) >= 0).all()
