from gnnbench.engine.judge.comparison import Compared
from gnnbench.engine.judge.memory import MemoryChange
from gnnbench.engine.judge.verdict import Judgement
from gnnbench.engine.show.charts import for_page, log_axis, svg
from gnnbench.engine.show.pictures import Timed, ratios, times
from gnnbench.engine.show.style import PAGE, SLIDE

NAME = "<script>alert(1)</script> \"' onload=x & datum.x ${y}"


def judged(ratio, verdict="slower"):
    return Judgement(verdict, "", ratio, ratio * 0.9, ratio * 1.1, ratio * 0.95, ratio * 1.05)


def test_a_hostile_name_in_a_chart_is_text():
    more = MemoryChange("more memory", 2**20, 2**22)
    verdicts = (judged(1.2), more), (judged(0.8, "faster"), None), (judged(1.0, "same"), None)
    rows = [
        (name, Compared(name, found, memory=memory))
        for name, (found, memory) in zip((NAME, NAME, "other"), verdicts, strict=True)
    ]
    text = for_page(ratios(rows, 0.03, PAGE), NAME)
    assert "<script" not in text
    assert text.startswith('<div role="img" aria-label="&lt;script&gt;alert(1)&lt;/script&gt; ')
    assert "1.20x slower, +3.0 MiB" in text
    text = svg(times([Timed("a\x1b\u202e\ud800b", 1.0), Timed(NAME, 2.0, 1.0, 3.0)], SLIDE))
    assert "<script" not in text
    assert "a???b" in text
    assert "2.00 s<" in text


def test_log_axes_have_ticks():
    for values, ticks in (
        ([1, 30], [1, 2, 5, 10, 20]),
        ([1.02, 1.3], [1.05, 1.1, 1.15, 1.2, 1.25, 1.3]),
        ([0.97, 1.031], [0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03]),
        ([3], [3]),
    ):
        assert log_axis(values, PAGE).to_dict()["values"] == ticks
