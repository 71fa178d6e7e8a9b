import numpy as np
import pytest

from gnnbench.report.style import PAGE
from gnnbench.report.trend import picture
from tests.compare.trend.judged import history, judged, step


def values(spec):
    return [spec["datasets"][layer["data"]["name"]] for layer in spec["layer"]]


def test_a_chart_has_times_the_level_and_where_changes_may_lie():
    of = history()
    one = judged(of, [step(10, 1.2), step(30, 0.8)], [step(20, 1.01)])
    ranges, times, levels = values(picture.draw(one, PAGE))
    assert [(one["first"], one["last"]) for one in ranges] == [(9.5, 12.5), (29.5, 32.5)]
    assert len(times) == 40
    assert times[0]["run"] == 1
    assert times[0]["time"] == pytest.approx(1, rel=0.05)
    assert [row["run"] for row in levels] == [1, 10, 11, 20, 21, 30, 31, 40]
    assert levels[0]["level"] == 1
    assert levels[2]["level"] == pytest.approx(1.2)


def test_a_drift_is_a_slope_without_a_range():
    (ranges, _, levels) = values(
        picture.draw(judged(history(), [step(30, 1.06, around=20, kind="drift")]), PAGE)
    )
    assert ranges == []
    assert [(row["run"], row["level"]) for row in levels] == [(1, 1.0), (11, 1.0), (31, 1.06), (40, 1.06)]


def test_a_change_of_spread_alone_has_one_level():
    _, _, levels = values(picture.draw(judged(history(), [step(20, 3.0, kind="spread")]), PAGE))
    assert [row["run"] for row in levels] == [1, 40]
    assert levels[0] == {**levels[1], "run": 1}


@pytest.mark.parametrize(("factor", "unit"), [(1e-7, "ns"), (1e-3, "µs"), (1, "ms"), (1e3, "s")])
def test_times_are_in_the_unit_that_they_are_written_in(factor, unit):
    one = judged(history())
    one.series.logs[:] = np.log(5e6 * factor)
    times = picture.draw(one, PAGE)["layer"][1]
    assert times["encoding"]["y"]["title"] == f"time of a call, {unit}"
    _, rows, _ = values(picture.draw(one, PAGE))
    assert rows[0]["time"] == pytest.approx(0.5 if unit == "ns" else 5)


def test_odd_runs_leave_the_others_room():
    one = judged(history(200), [step(100, 1.05)])
    one.series.logs[50] += 3
    low, high = picture.draw(one, PAGE)["layer"][1]["encoding"]["y"]["scale"]["domain"]
    assert 0.9 < low < 1
    assert 1.05 < high < 1.2
    flat = judged(history())
    flat.series.logs[:] = np.log(5e3)
    low, high = picture.draw(flat, PAGE)["layer"][1]["encoding"]["y"]["scale"]["domain"]
    assert low < 5 < high
