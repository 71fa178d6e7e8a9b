import datetime as dt
import math

import pytest

from gnnbench.compare.accepted import allowed, is_recovered, is_settled, judge, judge_memory
from gnnbench.compare.comparison import Compared
from gnnbench.compare.memory import MemoryChange
from gnnbench.compare.verdict import SAME_CODE, Judgement, Thresholds, judge_ratio
from gnnbench.results.accepted import Entry

THRESHOLDS = Thresholds(0.03)


def row(ratio, error=0.005, family=20):
    return Compared(
        "test_a", judge_ratio(math.log(ratio), error, 30, THRESHOLDS, family), 1.0, notes=("code",)
    )


def entry(ratio=1.2, width=0.02, reason="more accurate", **changes):
    bounds = ratio / math.exp(width), ratio * math.exp(width)
    found = Entry("test_a", ratio, *bounds, "a" * 40, "b" * 40, "Ada", dt.date(2026, 1, 1), reason)
    return Entry(**{**vars(found), **changes})


def test_without_entries_a_verdict_stays():
    slower = row(1.2)
    assert judge(slower, [], THRESHOLDS) is slower
    assert not is_recovered(slower, THRESHOLDS)


def test_a_slowdown_within_what_is_accepted_is_accepted_with_its_reason():
    found = judge(row(1.21), [entry()], THRESHOLDS)
    assert found.judgement.verdict == "accepted"
    assert found.judgement.reason == "accepted: more accurate"
    assert found.judgement.ratio == pytest.approx(1.21)
    assert found.judgement.judged
    assert found.notes == ("accepted 1.20x (1.18-1.22): more accurate", "code")


def test_more_than_is_accepted_is_slower_and_says_how_much():
    found = judge(row(1.32), [entry()], THRESHOLDS)
    assert found.judgement == row(1.32).judgement
    assert found.notes[0].startswith("1.10x (1.07-1.13) beyond the accepted 1.20x: more accurate")


@pytest.mark.parametrize(
    ("ratio", "error", "width", "verdict"),
    [
        (1.26, 0.005, 0.001, "slower"),
        (1.26, 0.005, 0.06, "accepted"),
        (1.26, 0.02, 0.001, "accepted"),
        (1.22, 1e-4, 1e-4, "accepted"),
    ],
)
def test_the_errors_of_both_count_and_less_than_the_effect_beyond_is_accepted(ratio, error, width, verdict):
    found = judge(row(ratio, error=error), [entry(width=width)], THRESHOLDS)
    assert found.judgement.verdict == verdict


def test_a_verdict_is_settled_when_it_is_known_whether_it_is_more_than_accepted():
    def settled(ratio, error):
        return is_settled(row(ratio, error).judgement, allowed([entry(1.2, width=0.01)]), THRESHOLDS)

    assert not settled(1.2, 0.02)
    assert settled(1.2, 0.005)
    assert settled(1.12, 0.01), "less than accepted"
    assert not settled(1.23, 0.01)
    assert settled(1.3, 0.01)
    assert settled(1.0, 0.02), "not slower"


def test_more_memory_within_what_is_accepted_does_not_fail():
    def found(head_bytes, *entries):
        return judge_memory(MemoryChange("more memory", 2**23, head_bytes), entries)

    first, second = entry(more_bytes=2**20), entry(reason="safer", more_bytes=2**21)
    assert found(2**23 + 2**20, first).excused == "accepted: more accurate"
    assert found(2**23 + 2**20 + 2**15, first).excused, "the rest would give no verdict"
    assert found(2**23 + 2**21, first).fails
    assert found(2**23 + 3 * 2**20, first, second).excused == "accepted: more accurate; safer"
    assert found(2**23 + 2**20, entry()).fails, "of time only"
    assert found(2**23 + 2**20).fails
    less = MemoryChange("less memory", 2**23, 2**22)
    assert judge_memory(less, [first]) is less
    assert judge_memory(None, [first]) is None


def test_several_entries_multiply():
    two = [entry(1.2, reason="first"), entry(1.1, reason="second")]
    found = judge(row(1.31), two, THRESHOLDS)
    assert found.judgement.verdict == "accepted"
    assert found.allowed.ratio == pytest.approx(1.32)
    assert math.log(found.allowed.high / 1.32) == pytest.approx(math.hypot(0.02, 0.02))
    assert found.allowed.reasons == ("first", "second")
    assert judge(row(1.45), two, THRESHOLDS).judgement.verdict == "slower"


@pytest.mark.parametrize(
    "judgement",
    [
        row(1.02, error=0.02).judgement,
        row(1.0, error=0.002).judgement,
        row(0.9).judgement,
        Judgement("incomparable", "not measured"),
        SAME_CODE,
    ],
    ids=["undecided", "same", "faster", "incomparable", "same code"],
)
def test_other_verdicts_stay(judgement):
    found = judge(Compared("test_a", judgement, None), [entry()], THRESHOLDS)
    assert found.judgement == judgement
    assert found.notes == ()


def test_what_is_clearly_less_slow_than_accepted_has_recovered():
    def recovered(one, **changes):
        return is_recovered(judge(one, [entry(**changes)], THRESHOLDS), THRESHOLDS)

    assert recovered(row(1.0))
    assert recovered(row(1.08)), "still slower than the base"
    assert recovered(Compared("test_a", SAME_CODE, None))
    assert not recovered(row(1.19))
    assert not recovered(row(1.15), width=0.1)
    assert not recovered(row(1.19, error=1e-5), width=1e-5), "less than the effect"
    assert not recovered(Compared("test_a", Judgement("incomparable", "not measured"), None))
