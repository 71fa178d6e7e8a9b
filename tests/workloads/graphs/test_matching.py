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


def test_no_degree_is_far_above_the_bound():
    assert matching.citation_degrees(10_000, 100_000, 50.0).max() < 60
    assert matching.citation_degrees(10_000, 100_000, 10**9).max() > 500


@pytest.mark.parametrize(("ones", "others"), [([3, 2, 1], [1, 1, 1, 3]), ([30] * 40, [60] * 20 + [0] * 60)])
def test_stubs_of_two_types_become_simple_edges(ones, others):
    one, other = matching.match_between(Stream(1), np.array(ones), np.array(others))
    assert len(one) == len(other) == sum(ones)
    assert one.max() < len(ones)
    assert other.max() < len(others)
    assert len(set(zip(one.tolist(), other.tolist(), strict=True))) == len(one)


def test_the_raw_stream_is_pinned():
    assert Stream(1).raw(3).tolist() == [9441442522235856127, 17532960557476522086, 2659275481604167885]


@given(st.integers(1, 2**32 - 1), st.integers(0, 9))
def test_below_is_below(bound, seed):
    drawn = Stream(seed).below(bound, 50)
    assert ((drawn >= 0) & (drawn < bound)).all()


def test_draws_have_their_probability():
    assert np.bincount(Stream(3).below(10, 100_000)).min() > 9_500
    assert abs(Stream(3).chance(0.3, 100_000).mean() - 0.3) < 0.01
    assert abs(np.corrcoef(Stream(0).permutation(10_000), np.arange(10_000))[0, 1]) < 0.05


@given(st.lists(st.integers(0, 6), min_size=1, max_size=60))
def test_groups_are_sorted_and_nothing_is_lost(groups):
    group = np.array(groups, dtype=np.int64)
    order = Stream(0).shuffled_groups(group, 7)
    assert sorted(order.tolist()) == list(range(len(groups)))
    assert (np.diff(group[order]) >= 0).all()
