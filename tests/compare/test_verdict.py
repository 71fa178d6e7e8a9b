import pytest

from gnnbench.engine.judge.verdict import Reason, _decide


@pytest.mark.parametrize(
    ("log_ratio", "own", "wide", "found"),
    [
        (0.5, 0.25, 0.375, ("slower", Reason.EXCLUDES_ONE)),
        (-0.5, 0.25, 0.375, ("faster", Reason.EXCLUDES_ONE)),
        (0.5, 0.25, 0.5, ("undecided", Reason.WIDE_INTERVAL)),
        (0.25, 0.125, 0.125, ("same", Reason.WITHIN_EFFECT)),
        (-0.25, 0.25, 0.5, ("undecided", Reason.WIDE_INTERVAL)),
        (0.25, 0.25, 0.125, ("undecided", Reason.SMALL_CHANGE)),
    ],
)
def test_an_interval_that_touches_a_limit_has_not_passed_it(log_ratio, own, wide, found):
    assert _decide(log_ratio, own, wide, effect=0.5) == found
