"""Pages in windows of a phone and of desktops: all is in the window, and large enough to be read."""

import pytest

from tests.report import contents
from tests.run_files import content, entry, plain

WIDTHS = {390: 10, 768: 10, 1280: 11, 1920: 11}
"""Least size of text in charts, in pixels, by the window's width."""
OPERATIONS = ("conv_cached", "add_remaining_self_loops", "spmm_sum")
CHARTS = """
() => [...document.querySelectorAll("figure svg")].filter(svg => svg.checkVisibility()).map(svg => ({
  box: svg.getBoundingClientRect().toJSON(),
  scale: svg.getBoundingClientRect().width / svg.viewBox.baseVal.width,
  texts: [...svg.querySelectorAll("text")].filter(text => text.textContent.trim()).map(text => ({
    text: text.textContent,
    size: parseFloat(getComputedStyle(text).fontSize),
    box: text.getBoundingClientRect().toJSON(),
  })),
}))
"""
CUT = """
() => [...document.querySelectorAll("main *")].filter(one =>
  one.checkVisibility() && !one.closest(".scroll *, svg *") && one.getBoundingClientRect().right > innerWidth
).map(one => one.outerHTML.slice(0, 200))
"""


def several():
    """Return a run of operations with long names on two graphs and four platforms, judged."""
    verdicts = ("slower", "faster", "same", "undecided", "incomparable", "ignored")
    found = [
        contents.ours(operation, platform, 1 + number + 0.3 * place, dataset=graph, blocks=12)
        for number, operation in enumerate(OPERATIONS)
        for place, platform in enumerate(contents.PLATFORMS)
        for graph in ("cora", "ogbn-arxiv")
    ]
    for number, one in enumerate(found):
        judgement = {**contents.judgement(verdicts[number % 6]), "ratio": 0.8 + 0.02 * number}
        one["extra_info"]["gnnbench"]["comparison"] = judgement
    return content(*found)


def another():
    """Return a run of another project's tests, with names that are too long for a line."""
    names = [f"test_sparse_{'_'.join(['word'] * number)}[ogbn-arxiv-{number}]" for number in range(1, 14)]
    return content(*(entry(name, 1 + number, blocks=20) for number, name in enumerate(names)))


PAGES = {
    "report": lambda report, _: report(several()),
    "run": lambda report, _: report(contents.family(1)),
    "another": lambda report, _: report(another()),
    "plain": lambda report, _: report(plain(9), *(plain(seed) for seed in range(4))),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", PAGES)
def test_all_is_in_the_window_and_large_enough(report, tmp_path, visit, name):
    shown = visit(PAGES[name](report, tmp_path)).page
    for width, least in WIDTHS.items():
        shown.set_viewport_size({"width": width, "height": 900})
        assert shown.evaluate("document.documentElement.scrollWidth") == width
        assert shown.evaluate(CUT) == []
        charts = shown.evaluate(CHARTS)
        assert charts
        for chart in charts:
            assert chart["box"]["right"] <= width
            for text in chart["texts"]:
                assert text["size"] * chart["scale"] >= least, (width, text["text"])
                assert text["box"]["left"] >= 0, (width, text["text"])
                assert text["box"]["right"] <= width, (width, text["text"])
            assert overlapping(chart["texts"]) == [], width


def overlapping(texts):
    """Return the pairs of texts that are on top of each other."""

    def apart(one, other):
        return (
            one["right"] <= other["left"] + 1
            or other["right"] <= one["left"] + 1
            or one["bottom"] <= other["top"] + 4  # the box of a line is higher than its letters
            or other["bottom"] <= one["top"] + 4
        )

    return [
        (one["text"], other["text"])
        for place, one in enumerate(texts)
        for other in texts[:place]
        if not apart(one["box"], other["box"])
    ]
