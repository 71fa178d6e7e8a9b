import random

import pytest

from gnnbench.codec import decode
from gnnbench.profile.record import ProfileRecord
from gnnbench.report import breakdown
from tests.report import contents


def broken_down(profile):
    return breakdown.of([decode(profile, ProfileRecord)])


def noisy(calls, seed=0):
    """Return a profile of calls, each of which is slow in another range."""
    found = contents.profile("pyg")
    draw = random.Random(seed)
    for kind in ("phases", "layers"):
        rows = found["sections"][kind]["rows"]
        own = [[int(1e6 * draw.choice((1, 1, 1, 9))) for _ in range(calls)] for _ in rows]
        for row, times in zip(rows, own, strict=True):
            row["self_ns"] = times
            inside = [
                one
                for other, one in zip(rows, own, strict=True)
                if other["path"][: len(row["path"])] == row["path"]
            ]
            row["total_ns"] = [sum(times) for times in zip(*inside, strict=True)]
            row["calls"] = [1] * calls
    return found


@pytest.mark.parametrize("calls", [1, 2, 3, 10, 11])
def test_the_parts_of_a_bar_add_up_to_it(calls):
    for found in broken_down(noisy(calls)):
        (bar,) = found.bars
        assert sum(part.self_seconds for part in bar.parts) + bar.rest_seconds == pytest.approx(bar.seconds)
        outer = sum(part.seconds for part in bar.parts if part.depth == 1)
        assert outer + bar.rest_seconds == pytest.approx(bar.seconds)


def test_one_slow_call_does_not_count():
    profile = contents.profile("pyg")
    for row in profile["sections"]["phases"]["rows"]:
        for name in ("total_ns", "self_ns", "calls"):
            row[name] = row[name][:1] * 4
    before = broken_down(profile)[0].bars
    for row in profile["sections"]["phases"]["rows"]:
        row["total_ns"][2] *= 50
        row["self_ns"][2] *= 50
    assert broken_down(profile)[0].bars == before


def test_a_range_that_no_kept_call_entered_has_no_part():
    profile = contents.profile("pyg")
    rows = profile["sections"]["phases"]["rows"]
    rows.append({**rows[1], "path": ["epoch", "loss"], "total_ns": [0, 0, 0], "self_ns": [0, 0, 0]})
    (bar,) = broken_down(profile)[0].bars
    assert [part.name for part in bar.parts] == ["forward", "backward"]
