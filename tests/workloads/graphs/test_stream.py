import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.workloads.graphs.stream import Stream


def test_the_raw_stream_is_pinned() -> None:
    assert Stream(1).raw(3).tolist() == [9441442522235856127, 17532960557476522086, 2659275481604167885]


@given(st.integers(1, 2**32 - 1), st.integers(0, 9))
def test_below_is_below(bound: int, seed: int) -> None:
    drawn = Stream(seed).below(bound, 50)
    assert ((drawn >= 0) & (drawn < bound)).all()


def test_below_is_uniform() -> None:
    assert np.bincount(Stream(3).below(10, 100_000)).min() > 9_500


def test_chance_is_its_probability() -> None:
    assert abs(Stream(3).chance(0.3, 100_000).mean() - 0.3) < 0.01


@given(st.lists(st.integers(0, 6), min_size=1, max_size=60))
def test_groups_are_sorted_and_nothing_is_lost(groups: list[int]) -> None:
    group = np.array(groups, dtype=np.int64)
    order = Stream(0).shuffled_groups(group, 7)
    assert sorted(order.tolist()) == list(range(len(groups)))
    assert (np.diff(group[order]) >= 0).all()


def test_a_group_is_shuffled_within() -> None:
    assert Stream(0).permutation(100).tolist() != list(range(100))
    assert abs(np.corrcoef(Stream(0).permutation(10_000), np.arange(10_000))[0, 1]) < 0.05
