import pytest

from gnnbench.engine.judge.comparison import Compared
from gnnbench.engine.judge.memory import MemoryChange
from gnnbench.engine.judge.verdict import Judgement
from gnnbench.engine.show import drawing
from gnnbench.engine.show.charts import forest, times
from gnnbench.engine.show.charts.common import log_axis
from gnnbench.engine.show.style import PAGE, SLIDE

NAME = "<script>alert(1)</script> \"' onload=x & datum.x ${y}"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10">{}</svg>'


def judged(ratio, verdict="slower"):
    return Judgement(verdict, "", ratio, ratio * 0.9, ratio * 1.1, ratio * 0.95, ratio * 1.05)


def test_a_page_has_a_chart_in_two_widths_in_which_a_hostile_name_is_text():
    more = MemoryChange("more memory", 2**20, 2**22)
    verdicts = (judged(1.2), more), (judged(0.8, "faster"), None), (judged(1.0, "same"), None)
    rows = [
        (name, Compared(name, found, memory=memory))
        for name, (found, memory) in zip((NAME, NAME, "other"), verdicts, strict=True)
    ]
    text = drawing.for_page(lambda style: forest.chart(rows, 0.03, style), NAME)
    assert "<script" not in text
    assert text.count('aria-label="&lt;script&gt;alert(1)&lt;/script&gt; &quot;') == 2
    wide, narrow = text.split('</div><div class="narrow">')
    assert wide.startswith('<div class="wide"><svg')
    for one, least, most in ((wide, 1200, 1280), (narrow, 340, 366)):
        assert "1.20x slower, +3.0 MiB" in one
        assert least < float(one.partition('width="')[2].partition('"')[0]) <= most
    shown = [{"label": NAME, "platform": NAME, "relative": 1.0, "text": NAME}]
    assert "<script" not in drawing.inline_svg(times.platforms(shown, SLIDE), "")
    hidden = "a\x1b\u202e\ud800b"
    shown = [{"label": hidden, "platform": hidden, "relative": 1.0, "text": hidden}]
    assert drawing.inline_svg(times.platforms(shown, SLIDE), hidden).count("a???b") == 4


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        '<a href="javascript:alert(1)"><text>x</text></a>',
        '<image href="https://example.org/x.png"/>',
        '<g onclick="alert(1)"><text>x</text></g>',
        '<g style="fill:red"><text>x</text></g>',
        '<foreignObject><p xmlns="http://www.w3.org/1999/xhtml">x</p></foreignObject>',
        '<text xmlns:x="http://www.w3.org/1999/xlink" x:href="javascript:1">x</text>',
    ],
)
def test_more_than_shapes_and_text_is_refused(monkeypatch, inside):
    monkeypatch.setattr(drawing, "svg", lambda _: SVG.format(inside))
    with pytest.raises(ValueError, match="a chart contains the"):
        drawing.inline_svg({}, "")


def test_a_chart_is_described_once_for_those_who_cannot_see_it(monkeypatch):
    inside = '<g class="x" aria-label="run 1"><text>y</text></g>'
    monkeypatch.setattr(drawing, "svg", lambda _: SVG.format(inside))
    text = drawing.inline_svg({}, "what it says")
    assert text.count("aria-label") == text.count('role="img" aria-label="what it says"') == 1
    assert "class" not in text


def test_log_axes_have_ticks():
    for values, ticks in (
        ([1, 30], [1, 2, 5, 10, 20]),
        ([1.02, 1.3], [1.05, 1.1, 1.15, 1.2, 1.25, 1.3]),
        ([0.97, 1.031], [0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03]),
        ([3], [3]),
    ):
        assert log_axis(values, PAGE).to_dict()["values"] == ticks
