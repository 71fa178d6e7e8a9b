import math

import pytest

from gnnbench.engine.judge.accepted import Entry
from gnnbench.engine.judge.allowed import Allowed
from gnnbench.engine.judge.verdict import Thresholds, judge_ratio

THRESHOLDS = Thresholds(0.03)


def slower(ratio, error=0.005):
    return judge_ratio(math.log(ratio), error, 30, THRESHOLDS, 20)


def entry(ratio=1.2, width=0.02, reason="more accurate", **changes):
    bounds = ratio / math.exp(width), ratio * math.exp(width)
    return Entry("test_a", reason, ratio, *bounds, **changes)


@pytest.mark.parametrize(
    ("ratio", "error", "width", "exceeded"),
    [
        (1.26, 0.005, 0.001, True),
        (1.26, 0.005, 0.06, False),  # the errors of both count
        (1.26, 0.02, 0.001, False),
        (1.22, 1e-4, 1e-4, False),  # less than the effect
    ],
)
def test_more_than_is_accepted(ratio, error, width, exceeded):
    limit = Allowed.of([entry(width=width)])
    assert limit.is_exceeded(slower(ratio, error), THRESHOLDS) == exceeded


def test_several_entries_multiply():
    found = Allowed.of([entry(1.2, reason="first"), entry(1.1, reason="second")])
    assert found.ratio == pytest.approx(1.32)
    assert math.log(found.high / 1.32) == pytest.approx(math.hypot(0.02, 0.02))
    assert found.reasons == ("first", "second")
    notes = Allowed.of([entry(1.003)]).notes(slower(1.2))
    assert notes[0].endswith("beyond the accepted 1.003x: more accurate")
    assert Allowed.of([entry(1.0, width=0.0, more_bytes=9)]) is None, "of memory only"
