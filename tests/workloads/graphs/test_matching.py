import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.workloads.graphs import matching
from gnnbench.workloads.graphs.stream import Stream


@given(st.integers(1, 300), st.integers(1, 5000))
def test_degrees_add_up_exactly(nodes: int, total: int) -> None:
    ascending = matching.citation_degrees(nodes, total, 10**9)
    descending = matching.power_law_degrees(nodes, total)
    for degrees in (ascending, descending):
        assert (len(degrees), degrees.sum(), degrees.min() >= 0) == (nodes, total, True)


def test_no_degree_is_far_above_the_bound() -> None:
    assert matching.citation_degrees(10_000, 100_000, 50.0).max() < 60
    assert matching.citation_degrees(10_000, 100_000, 10**9).max() > 500


def test_the_largest_of_power_law_degrees_falls_as_one_over_a_root() -> None:
    degrees = matching.power_law_degrees(10_000, 1_000_000)
    assert degrees[0] / degrees[3] == pytest.approx(2, rel=0.01)
    assert degrees[0] / degrees[99] == pytest.approx(10, rel=0.01)


@pytest.mark.parametrize(("ones", "others"), [([3, 2, 1], [1, 1, 1, 3]), ([30] * 40, [60] * 20 + [0] * 60)])
def test_stubs_of_two_types_become_simple_edges(ones: list[int], others: list[int]) -> None:
    one, other = matching.match_between(Stream(1), np.array(ones), np.array(others))
    assert len(one) == len(other) == sum(ones)
    assert one.max() < len(ones)
    assert other.max() < len(others)
    assert len(set(zip(one.tolist(), other.tolist(), strict=True))) == len(one)


def test_degrees_of_both_types_are_kept_where_there_is_room() -> None:
    stream = Stream(2)
    ones = matching.citation_degrees(3000, 9000, 50.0)
    others = matching.citation_degrees(1500, 9000, 50.0)[stream.permutation(1500)]
    one, other = matching.match_between(stream, ones, others)
    assert np.abs(np.bincount(one, minlength=3000) - ones).sum() <= 2
    assert np.abs(np.bincount(other, minlength=1500) - others).sum() <= 2
