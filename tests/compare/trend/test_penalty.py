import math

import pytest

from gnnbench.compare.trend.penalty import LONGEST, TAIL, TAILS, penalties


def test_a_length_has_the_penalty_of_the_next_longer_one():
    squares, excess, ranks, excess_of_ranks = TAILS[60]
    assert penalties(49, TAIL) == penalties(60, TAIL) == (squares, ranks)
    assert penalties(61, TAIL) == (TAILS[75][0], TAILS[75][2])
    assert penalties(60, TAIL / math.e) == pytest.approx((squares + excess, ranks + excess_of_ranks))


def test_it_grows_beyond_the_longest():
    found = [penalties(LONGEST * times, 0.001)[0] for times in (1, 2, 4)]
    assert found[2] - found[1] == pytest.approx(found[1] - found[0]) == pytest.approx(2 * math.log(2))
