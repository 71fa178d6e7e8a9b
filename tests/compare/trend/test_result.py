import json
from dataclasses import replace

import numpy as np
import pytest

from gnnbench import schema
from gnnbench.compare.trend.history import DATE, History, Series
from gnnbench.compare.trend.penalty import Penalties
from gnnbench.compare.trend.result import aligned, as_json, judge, lengths, together
from tests.compare.trend.histories import history as logs
from tests.compare.trend.histories import step as level
from tests.compare.trend.judged import NOW, history, judged, result, step


def test_the_last_change_of_the_level_decides():
    of = history()
    assert judged(of, [step(10, 0.9), step(20, 1.2)]).slower
    assert not judged(of, [step(10, 1.2), step(20, 0.9)]).slower
    assert judged(of, [step(10, 1.2), step(20, 3.0, kind="spread")]).slower
    assert judged(of, [step(20, 1.06, kind="drift")]).slower
    assert not judged(of, [step(20, 3.0, kind="spread")]).slower
    assert not judged(of, (), [step(20, 1.01)]).slower


def test_what_ended_long_ago_is_no_longer_slower():
    of, old = history(40, first_day=100), history(40, name="old", first_day=0)
    slow = [step(10, 1.2)]
    found = result(judged(of, slow), judged(old, slow), judged(of, slow, name="gone", runs=range(9)))
    assert [one.history.environment for one in found.slower] == ["here_1"]
    assert [found.current(one) for one in found.judged] == [True, False, False]


def test_a_date_that_is_yet_to_come_ends_no_series():
    of, soon = history(), history(1, name="soon", first_day=400)
    slow = judged(of, [step(10, 1.2)])
    assert result(slow, histories=(of, soon)).slower == [slow]
    assert result(slow, histories=(of, soon), now=soon.runs[0].date).slower == []
    yet = judged(soon)
    assert result(slow, yet).current(yet)
    assert result(yet).current(yet)


def test_what_was_measured_last_counts_not_what_stands_last():
    of = history(80)
    again = replace(of, runs=(*of.runs[60:], *of.runs[:60]))
    slow = judged(again, [step(10, 1.2)], runs=range(40))
    assert result(slow).slower == [slow]
    assert result(judged(of, [step(10, 1.2)], runs=range(40))).slower == []


def test_a_change_lies_between_the_last_run_before_and_the_first_after():
    one = judged(history(), [step(20, around=2)], runs=[*range(0, 40, 2)][:20])
    before, after = one.between(step(10, around=2))
    assert (before.commit[:7], after.commit[:7]) == ("000000e", "0000018")
    drift = step(10, kind="drift", around=0)
    assert [run.commit[:7] for run in one.between(drift)] == ["0000014", "0000014"]


def test_changes_at_one_run_are_said_to_be_together():
    of = history()
    series = [judged(of, [step(20 + number % 2)], name=f"b{number}") for number in range(4)]
    quiet = [judged(of, name=f"q{number}") for number in range(3)]
    assert together([*series, *quiet], of) == [(21, 4, 7)]
    assert together([*series, *quiet, *(judged(of, name=f"r{n}") for n in range(3))], of) == []
    assert together(series[:2], of) == []
    # Of the runs that are as possible the likeliest of most is named.
    series = [
        judged(of, [step(at, around=3)], name=f"b{number}") for number, at in enumerate((20, 21, 20, 22))
    ]
    assert together(series, of) == [(20, 4, 4)]


def test_what_changed_together_is_at_one_run_everywhere():
    of = history()
    every = [
        judged(of, [step(at, around=2)], name=f"b{number}") for number, at in enumerate((20, 20, 20, 22))
    ]
    gap = judged(of, [step(20, around=1)], name="gap", runs=[*range(20), *range(21, 40)])
    other = judged(of, [step(10), step(30, 2.0, kind="spread")], name="other")
    found = aligned([*every, gap, other])
    assert [change.at for one in found[:4] for change in one.findings] == [20] * 4
    assert [(change.first, change.last) for change in found[3].findings] == [(20, 24)]
    assert found[4].run(found[4].findings[0].at) == 21, "it has no time of run 20"
    assert found[5] == other
    assert together(found, of) == together([*every, gap, other], of) == [(20, 5, 6)]
    there = history(name="there")
    assert aligned([*every, judged(there, [step(21)])])[-1].findings[0].at == 21, "another environment"


def test_of_two_steps_only_one_can_be_where_others_are():
    of = history()
    every = [judged(of, [step(20)], name=f"b{number}") for number in range(4)]
    two = judged(of, [step(19, around=2), step(22, around=2)], name="two")
    assert aligned([*every, two])[-1] == two
    spread = judged(of, [step(19, around=2), step(20, 3.0, kind="spread")], name="spread")
    assert [change.at for change in aligned([*every, spread])[-1].findings] == [20, 20]


def test_the_level_is_shared_by_many_benchmarks(tmp_path, calibrated):
    of = history(60)
    sizes = {f"b{number}": 0.2 * (number == 7) for number in range(40)}
    series = [
        Series(name, name, np.arange(60), logs([1, number], 60, level=level(60, 30, size)))
        for number, (name, size) in enumerate(sizes.items())
    ]
    short = Series("short", "short", np.arange(11), np.zeros(11))
    whole = History(of.environment, DATE, of.runs, (*series, short), 0, 0, 0)
    assert lengths([whole]) == [60] * 40
    penalties = Penalties(tmp_path, {60: calibrated(60)})
    found = judge([whole], penalties, 0.03, NOW)
    assert (found.too_short, found.level) == (1, pytest.approx(0.01 / 40))
    assert [one.series.benchmark for one in found.judged if one.findings] == ["b7"]
    alone = History("a", DATE, of.runs, tuple(series[:1]), 0, 0, 0)
    assert judge([alone], penalties, 0.03, NOW).level == 0.001


def test_json_follows_its_schema():
    of = history(superseded=2)
    found = result(
        judged(of, [step(10, 1.2), step(30, 2.0, kind="spread")], [step(20, 1.01)]),
        judged(of, name="quiet"),
        judged(history(name="there", commits=False), [step(12, 1.06, kind="drift")]),
        too_short=1,
    )
    content = json.loads(json.dumps(as_json(found, ["x.json: not JSON"])))
    assert schema.departure(content, "trend") is None
    here, there = content["environments"]
    assert [one["matters"] for one in here["benchmarks"]["test_a.py::b0"]["changes"]] == [True, True, False]
    assert here["benchmarks"]["quiet"] == {"runs": 40, "current": True, "slower": False, "changes": []}
    (one,) = there["benchmarks"]["test_a.py::b0"]["changes"]
    assert (one["kind"], one["run"], one["by_commit"]) == ("drift", 12, None)
