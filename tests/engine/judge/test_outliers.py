from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.judge.outliers import Outliers, in_other_mode, kept_pairs, outliers


def keeps(base, head):
    base, head = (np.log(np.array(side, dtype=float))[:, None] for side in (base, head))
    return kept_pairs(base, head)[:, 0].tolist()


def found(base, head):
    base, head = (np.log(np.array(side, dtype=float))[:, None] for side in (base, head))
    keeps = kept_pairs(base, head)
    sides = base, head, keeps, in_other_mode(keeps, np.isfinite(base))
    return outliers(*(values[:, 0] for values in sides))


def test_of_two_pairs_the_odd_one_is_excluded_whichever_way_it_is_odd():
    assert keeps([1, 1], [1.05, 0.1]) == [True, False]
    assert keeps([1, 1], [10, 1.05]) == [False, True]
    assert keeps([1, 12], [1, 1]) == [True, False]
    assert keeps([1], [30]) == [True]
    assert keeps([1, 6], [6, 1]) == [True, True], "each is the other's mirror"


def test_what_slows_both_sides_of_a_pair_excludes_nothing():
    assert all(keeps([1, 25, 1, 4, 1], [1.1, 26, 1.2, 4, 1]))
    assert found([1, 6, 1, 6], [1, 6, 1, 6]) == Outliers(4), "both are in the same of two modes"


def test_what_was_not_measured_is_neither_kept_nor_an_outlier():
    assert keeps([1, np.nan, 1, 1], [1, 1, np.nan, 30]) == [True, False, False, False]
    assert kept_pairs(np.zeros((0, 3)), np.zeros((0, 3))).shape == (0, 3)


def test_outliers_are_counted_by_direction():
    base, head = [1, 1, 1, 1, 25, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0.1, 25, 1, 1, 1]
    assert found(base, head) == Outliers(10, above=1, below=2)
    assert found(base, head).text == "; 3 pairs excluded: 1 over 3x above the median pair, 2 below"
    assert found(base, head).doubt("same") is None


def test_two_modes_are_told_from_single_outliers():
    base, head = [1, 6, 1, 6, 1, 6, 1, 1], [1, 6, 6, 1, 1, 6, 1, 1]
    assert found(base, head).in_modes == 2
    assert found(base, head).doubt("same") is None
    scattered = found([1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 9, 0.02, 200])
    assert scattered.in_modes == 0
    assert scattered.doubt("slower") == "too many pairs are outliers"
    one_sided = found([1] * 20, [1] * 17 + [25] * 3)
    assert one_sided.in_modes == 0
    assert one_sided.doubt("slower") == "one side may be slower in some of its processes"


levels = st.lists(st.tuples(*[st.sampled_from([1.0, 1.1, 2.0, 6.0, 25.0])] * 2), min_size=1, max_size=12)


@given(levels)
def test_swapping_the_sides_mirrors_what_is_kept_and_counted(pairs):
    base, head = zip(*pairs, strict=True)
    assert keeps(base, head) == keeps(head, base)
    there, back = found(base, head), found(head, base)
    assert there == replace(back, above=back.below, below=back.above)
