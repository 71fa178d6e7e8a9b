import json
from dataclasses import replace

import numpy as np
import pytest

from gnnbench.compare.memory import MemoryChange
from gnnbench.compare.trend.history import DATE, History, Series
from gnnbench.compare.trend.result import aligned, as_json, judge, together
from gnnbench.compare.trend.steps import MemoryStep
from tests.compare.trend.histories import history as logs
from tests.compare.trend.histories import step as level
from tests.compare.trend.judged import NOW, history, judged, result, step

MORE, LESS = (MemoryStep(3, 4, MemoryChange(verdict, 10, 20)) for verdict in ("more memory", "less memory"))


def test_the_last_step_decides():
    of = history()
    assert judged(of, [step(10, 0.9), step(20, 1.2)]).slower
    assert not judged(of, [step(10, 1.2), step(20, 0.9)]).slower
    assert not judged(of, (), [step(20, 1.01)]).slower
    assert judged(of, memory=[LESS, MORE], runs=range(9)).heavier
    assert not judged(of, memory=[MORE, LESS]).heavier


def test_what_ended_long_ago_is_no_longer_slower():
    of, old = history(40, first_day=100), history(40, name="old", first_day=0)
    slow = [step(10, 1.2)]
    found = result(judged(of, slow), judged(old, slow), judged(of, slow, name="gone", runs=range(9)))
    assert [one.history.environment for one in found.slower] == ["here_1"]
    assert [found.current(one) for one in found.series] == [True, False, False]


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


def test_steps_at_one_run_are_said_to_be_together():
    of = history()
    series = [judged(of, [step(20 + number % 2)], name=f"b{number}") for number in range(4)]
    quiet = [judged(of, name=f"q{number}") for number in range(3)]
    short = judged(of, name="short", runs=range(9))
    assert together([*series, *quiet, short]) == [(21, 4, 7)]
    assert together([*series, *quiet, *(judged(of, name=f"r{n}") for n in range(3))]) == []
    assert together(series[:2]) == []
    # Of the runs that are as possible the likeliest of most is named.
    series = [
        judged(of, [step(at, around=3)], name=f"b{number}") for number, at in enumerate((20, 21, 20, 22))
    ]
    assert together(series) == [(20, 4, 4)]


def test_what_changed_together_is_at_one_run_everywhere():
    of = history()
    every = [
        judged(of, [step(at, around=2)], name=f"b{number}") for number, at in enumerate((20, 20, 20, 22))
    ]
    gap = judged(of, [step(21)], name="gap", runs=[*range(20), *range(21, 40)])
    other = judged(of, [step(10)], name="other")
    found = aligned([*every, gap, other])
    assert [change.at for one in found[:4] for change in one.steps] == [20] * 4
    assert [(change.first, change.last) for change in found[3].steps] == [(20, 24)]
    assert found[4].steps[0].at == 21, "it has no time of run 20"
    assert found[5] == other
    assert together(found) == together([*every, gap, other]) == [(20, 5, 6)]
    two = judged(of, [step(19, around=2), step(22, around=2)], name="two")
    assert aligned([*every, two])[-1] == two, "of two steps only one can be there"


def test_the_level_is_shared_by_many_benchmarks():
    of = history(60)
    sizes = {f"b{number}": 0.2 * (number == 7) for number in range(40)}
    series = [
        Series(name, np.arange(60), logs([1, number], 60, level=level(60, 30, size)))
        for number, (name, size) in enumerate(sizes.items())
    ]
    short = Series("short", np.arange(11), np.zeros(11))
    found = judge([History(of.environment, DATE, of.runs, (*series, short), 0, 0, 0)], 0.03, NOW)
    assert (len(found.series), len(found.judged), found.level) == (41, 40, pytest.approx(0.005 / 40))
    assert [one.series.benchmark for one in found.judged if one.steps] == ["b7"]
    alone = History("a", DATE, of.runs, tuple(series[:1]), 0, 0, 0)
    assert judge([alone], 0.03, NOW).level == 0.0005


def test_json_follows_its_schema():
    of = history(superseded=2)
    found = result(
        judged(of, [step(10, 1.2), step(30, 2.0, around=0)], [step(20, 1.01)]),
        judged(of, name="quiet"),
        judged(of, name="short", runs=range(9), memory=[MORE]),
        judged(history(name="there", commits=False), [step(12, 1.06)]),
    )
    content = json.loads(json.dumps(as_json(found, ["x.json: not JSON"])))
    assert content["too_short"] == 1
    here, there = content["environments"]
    changes = here["benchmarks"]["test_a.py::b0"]["changes"]
    assert [(one["run"], one["matters"]) for one in changes] == [(10, True), (30, True), (20, False)]
    assert [changes[0][name][:7] for name in ("after_commit", "by_commit")] == ["0000008", "000000b"]
    assert [changes[1][name][:7] for name in ("after_commit", "by_commit")] == ["000001d", "000001e"]
    assert here["benchmarks"]["quiet"] == {"runs": 40, "current": True, "slower": False, "changes": []}
    assert there["benchmarks"]["test_a.py::b0"]["changes"][0]["by_commit"] is None
    (change,) = here["memory"]["short"]["changes"]
    assert (change["verdict"], change["run"], change["base_bytes"]) == ("more memory", 4, 10)
    assert (change["after_dirty"], change["by_dirty"]) == (True, False)
