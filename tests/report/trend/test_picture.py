import re
from dataclasses import replace

import numpy as np
import pytest

from gnnbench.report import drawing
from gnnbench.report.style import PAGE, PHONE
from gnnbench.report.trend import page
from tests.compare.trend.judged import history, judged, step


def values(spec):
    return [spec["datasets"][layer["data"]["name"]] for layer in spec["layer"]]


def test_a_chart_has_times_the_level_and_where_changes_may_lie():
    of = history()
    one = judged(of, [step(10, 1.2), step(30, 0.8)], [step(20, 1.01)])
    ranges, times, levels = values(page.draw(one, PAGE))
    assert [(one["first"], one["last"]) for one in ranges] == [(9.5, 12.5), (29.5, 32.5)]
    assert len(times) == 40
    assert times[0]["run"] == 1
    assert times[0]["time"] == pytest.approx(1, rel=0.05)
    assert [row["run"] for row in levels] == [1, 10, 11, 20, 21, 30, 31, 40]
    assert levels[0]["level"] == levels[1]["level"] == pytest.approx(1, rel=0.02)
    assert levels[2]["level"] == pytest.approx(1.2, rel=0.02)


@pytest.mark.parametrize(("factor", "unit"), [(1e-7, "ns"), (1e-3, "µs"), (1, "ms"), (1e3, "s")])
def test_times_are_in_the_unit_that_they_are_written_in(factor, unit):
    one = judged(history())
    one.series.logs[:] = np.log(5e6 * factor)
    drawn = page.draw(one, PAGE)
    assert drawn["layer"][1]["encoding"]["y"]["title"] == f"time of a call, {unit}"
    _, rows, _ = values(drawn)
    assert rows[0]["time"] == pytest.approx(0.5 if unit == "ns" else 5)


def test_odd_runs_leave_the_others_room():
    one = judged(history(200), [step(100, 1.05)])
    one.series.logs[50] += 3
    low, high = page.draw(one, PAGE)["layer"][1]["encoding"]["y"]["scale"]["domain"]
    assert 0.9 < low < 1
    assert 1.05 < high < 1.2
    flat = judged(history())
    flat.series.logs[:] = np.log(5e3)
    low, high = page.draw(flat, PAGE)["layer"][1]["encoding"]["y"]["scale"]["domain"]
    assert low < 5 < high


def test_the_axis_has_dates():
    def labels(of, style=PAGE):
        text = drawing.inline_svg(page.draw(judged(of), style), "")
        return re.findall(r"<tspan>([^<]*)</tspan><tspan[^>]*>(run \d+)</tspan>", text)

    found = labels(history(180))
    assert len(found) == PAGE.ticks
    assert found[0] == ("2026-01-01", "run 1")
    assert found[-1] == ("2026-06-29", "run 180")
    assert [run for _, run in labels(history(180), PHONE)] == ["run 1", "run 91", "run 180"]
    of = history(20)
    day = tuple(replace(run, date=f"2026-01-01T{number:02}:30:00") for number, run in enumerate(of.runs))
    assert labels(replace(of, runs=day), PHONE) == [
        ("00:30", "run 1"),
        ("10:30", "run 11"),
        ("19:30", "run 20"),
    ]
