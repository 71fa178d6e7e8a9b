import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from gnnbench.report import drawing, trend_page
from gnnbench.report.style import PAGE, PHONE
from tests.compare.trend.judged import history, judged, result, step

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&javascript:alert(2)[{{7*7}}]"


def test_changes_come_first_and_charts_say_what_they_show():
    of, there = history(), history(name="there_2", commits=False)
    text = trend_page.html(
        result(
            judged(of, [step(10, 1.2), step(30, 3.0)]),
            judged(there, [step(12, 1.06)], name="test_a.py::b1"),
            judged(of, name="test_a.py::quiet"),
        ),
        ["/x.json: not JSON"],
    )
    assert "2 of 3 benchmarks changed: " in text
    assert text.index('id="changes"') < text.index('id="charts"') < text.index('id="environments"')
    labels = re.findall(r'<svg[^>]* aria-label="([^"]*)"', text)
    assert len(labels) == 2 * 2, "each in two widths"
    assert any("slower 1.20x at run 11 (10-12), 1.00 to 1.20 ms; slower 3.00x" in label for label in labels)
    links = set(re.findall(r'href="#(b-[0-9a-f]{12})"', text))
    assert links == set(re.findall(r'id="(b-[0-9a-f]{12})"', text))
    assert len(links) == 2
    assert "0000008..000000b" in text
    assert "/x.json: not JSON" in text
    assert ">quiet <" in text


def test_names_are_text_wherever_they_stand_and_each_character_shows():
    plain = trend_page.html(result(judged(history(), [step(10)])), [])
    wild = f"\u202edlo\x1b[31m\ud800\u2066{HOSTILE}</style>" + "x" * 2000
    of, there = history(name=f"here{wild}"), history(name=f"there{wild}")
    found = result(
        judged(of, [step(10)], name=f"changed{wild}"),
        judged(there, [step(20, 2.0)], name=f"other{wild}"),
        judged(of, name=f"quiet{wild}"),
    )
    text = trend_page.html(found, [f"/a/{wild}.json: not JSON"])
    text.encode()
    assert not set(text) & set("\u202e\u2066\x1b\ud800")
    assert "x" * 2001 not in text
    for name in ("here", "there", "changed", "other", "quiet"):
        assert f">{name}\ufffddlo\ufffd[31m" in text
    for markup in ("<script", "<img", "<style", "</script", "</style"):
        assert text.count(markup) == plain.count(markup)
    assert "{{7*7}}" in text
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda _, attributes: found.extend(attributes)
    parser.feed(text)
    assert [name for name, _ in found if name.startswith("on")] == []
    assert [value for name, value in found if name in ("href", "src") and "javascript" in value] == []


def test_of_many_the_newest_are_drawn(monkeypatch):
    monkeypatch.setattr(trend_page, "_DRAWN", 3)
    of = history(100)
    text = trend_page.html(
        result(*(judged(of, [step(50 + number)], name=f"test_a.py::b{number}") for number in range(8))), []
    )
    assert text.count("<svg") == 2 * 3
    assert "5 benchmarks that changed earlier" in text
    assert ">b0<" in text
    assert text.count(">b7<") == 2
    nothing = trend_page.html(result(judged(history(5))), [])
    assert "No benchmark has the 12 runs that are needed" in nothing
    assert "<svg" not in nothing


def test_in_a_browser_it_sorts_filters_and_runs_nothing_of_a_name(tmp_path, visit):
    of = history(name=HOSTILE)
    names = [f"{HOSTILE}{number}" for number in range(3)]
    found = result(
        judged(of, [step(10, 1.2), step(20, 0.7)], name=names[0]),
        judged(of, [step(30, 1.5)], name=names[1]),
        judged(of, [step(15, 3.0)], name=names[2]),
    )
    path = tmp_path / "trend.html"
    path.write_text(trend_page.html(found, [HOSTILE]), encoding="utf-8")
    opened = visit(path).page
    words = opened.locator("#table > tbody > tr:visible > td:nth-child(2)")
    assert words.all_inner_texts() == ["slower 1.50x", "faster 0.70x", "slower 3.00x", "slower 1.20x"]
    opened.locator("#table thead button", has_text="change").click()
    assert words.all_inner_texts() == ["slower 3.00x", "slower 1.50x", "slower 1.20x", "faster 0.70x"]
    opened.locator("form[data-filters] select").select_option("slower")
    opened.locator("output", has_text="3 of 4").wait_for()
    assert words.all_inner_texts() == ["slower 3.00x", "slower 1.50x", "slower 1.20x"]
    assert opened.locator("figure svg:visible").count() == 3
    links = opened.locator("#table tbody tr:visible th a")
    assert opened.locator(links.first.get_attribute("href")).inner_text() == names[2].removeprefix("</")


def values(spec):
    return [spec["datasets"][layer["data"]["name"]] for layer in spec["layer"]]


def test_a_chart_has_times_the_level_and_where_changes_may_lie():
    of = history()
    one = judged(of, [step(10, 1.2), step(30, 0.8)], [step(20, 1.01)])
    ranges, times, levels = values(trend_page.draw(one, PAGE))
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
    drawn = trend_page.draw(one, PAGE)
    assert drawn["layer"][1]["encoding"]["y"]["title"] == f"time of a call, {unit}"
    _, rows, _ = values(drawn)
    assert rows[0]["time"] == pytest.approx(0.5 if unit == "ns" else 5)


def test_odd_runs_leave_the_others_room():
    one = judged(history(200), [step(100, 1.05)])
    one.series.logs[50] += 3
    low, high = trend_page.draw(one, PAGE)["layer"][1]["encoding"]["y"]["scale"]["domain"]
    assert 0.9 < low < 1
    assert 1.05 < high < 1.2
    flat = judged(history())
    flat.series.logs[:] = np.log(5e3)
    low, high = trend_page.draw(flat, PAGE)["layer"][1]["encoding"]["y"]["scale"]["domain"]
    assert low < 5 < high


def test_the_axis_has_dates():
    def labels(of, style=PAGE):
        text = drawing.inline_svg(trend_page.draw(judged(of), style), "")
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
