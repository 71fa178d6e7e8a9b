import pytest

from gnnbench.compare.verdict import Judgement
from gnnbench.report import drawing
from gnnbench.report.charts import forest, platforms
from gnnbench.report.charts.common import distinct, log_axis
from gnnbench.report.style import PAGE, SLIDE

NAME = "<script>alert(1)</script> \"' onload=x & datum.x ${y}"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10">{}</svg>'


def judged(ratio, verdict="slower"):
    return Judgement(verdict, "", ratio, ratio * 0.9, ratio * 1.1, ratio * 0.95, ratio * 1.05)


@pytest.mark.parametrize("style", [PAGE, SLIDE])
def test_a_hostile_name_is_text_in_a_chart(style):
    rows = [(NAME, judged(1.2)), (NAME, judged(0.8, "faster")), ("other", judged(1.0, "same"))]
    text = drawing.inline_svg(forest.chart(rows, 0.03, style), NAME)
    assert "<script" not in text
    assert 'aria-label="&lt;script&gt;alert(1)&lt;/script&gt; &quot;' in text
    assert "1.20x slower" in text
    shown = [{"label": NAME, "platform": NAME, "relative": 1.0, "text": NAME}]
    assert "<script" not in drawing.inline_svg(platforms.chart(shown, style), "")


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


def test_what_draws_nothing_is_left_out(monkeypatch):
    monkeypatch.setattr(
        drawing, "svg", lambda _: SVG.format('<g><path d=""/></g><g class="x"><text>y</text></g>')
    )
    text = drawing.inline_svg({}, "what it says")
    assert text.count("<g") == 1
    assert 'role="img" aria-label="what it says"' in text
    assert "class" not in text


def test_a_frame_has_its_size_and_the_chart_its_middle():
    text = drawing.framed(SVG.format(""), 100, 100, "#ffffff")
    assert 'width="100" height="100" viewBox="0.0 -5.0 20.0 20.0"' in text
    assert '<rect x="0.0" y="-5.0" width="20.0" height="20.0" fill="#ffffff"' in text


def test_the_browsers_library_is_made_once_and_needs_no_evaluation(tmp_path, monkeypatch):
    monkeypatch.setenv("GNNBENCH_CACHE", str(tmp_path))
    drawing.prepare()
    text = drawing.library.__wrapped__()
    (kept,) = (tmp_path / "report").iterdir()
    assert kept.read_text() == text
    assert drawing.library.__wrapped__() == text, "from there"
    assert "drawChart" in text
    assert "expressionInterpreter" in text


def test_labels_are_told_apart_and_log_axes_have_ticks():
    assert distinct(["a", "b", "a", "a"]) == ["a", "b", "a (2)", "a (3)"]
    assert log_axis([1, 30]).to_dict()["values"] == [1, 2, 5, 10, 20]
    assert "values" not in log_axis([1, 1.3]).to_dict()
