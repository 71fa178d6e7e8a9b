from gnnbench.engine.judge.comparison import Compared
from gnnbench.engine.judge.memory import MemoryChange
from gnnbench.engine.judge.verdict import Judgement
from gnnbench.engine.show.charts import PAGE, SLIDE, for_page, log_axis, svg
from gnnbench.engine.show.pictures import chart_of_ratios, chart_of_times

NAME = "<script>alert(1)</script> \"' onload=x & datum.x ${y}"


def judged(ratio, verdict="slower"):
    return Judgement(verdict, "", ratio, ratio * 0.9, ratio * 1.1, ratio * 0.95, ratio * 1.05)


def test_a_page_has_a_chart_in_two_widths_in_which_a_hostile_name_is_text():
    more = MemoryChange("more memory", 2**20, 2**22)
    verdicts = (judged(1.2), more), (judged(0.8, "faster"), None), (judged(1.0, "same"), None)
    rows = [
        (name, Compared(name, found, memory=memory))
        for name, (found, memory) in zip((NAME, NAME, "other"), verdicts, strict=True)
    ]
    text = for_page(lambda style: chart_of_ratios(rows, 0.03, style), NAME)
    assert "<script" not in text
    assert text.count('role="img" aria-label="&lt;script&gt;alert(1)&lt;/script&gt; ') == 2
    wide, narrow = text.split('</div><div class="narrow"')
    for one, least, most in ((wide, 1200, 1280), (narrow, 340, 366)):
        assert "1.20x slower, +3.0 MiB" in one
        assert least < float(one.partition('width="')[2].partition('"')[0]) <= most
    shown = {"label": NAME, "text": "a\x1b\u202e\ud800b", "time": 1.0, "low": 1.0, "high": 1.0, "sure": 1.0}
    text = svg(chart_of_times([shown], "ms", SLIDE))
    assert "<script" not in text
    assert "a???b" in text


def test_log_axes_have_ticks():
    for values, ticks in (
        ([1, 30], [1, 2, 5, 10, 20]),
        ([1.02, 1.3], [1.05, 1.1, 1.15, 1.2, 1.25, 1.3]),
        ([0.97, 1.031], [0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03]),
        ([3], [3]),
    ):
        assert log_axis(values, PAGE).to_dict()["values"] == ticks
