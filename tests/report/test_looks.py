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
  scale: svg.viewBox.baseVal ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1,
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
        agreement = {"status": ("close", "differ", "not compared")[number % 3], "reason": "output"}
        memory = {"verdict": "more memory", "base_bytes": 2**20, "head_bytes": 2**21 + number}
        ratio = 0.8 + 0.02 * number
        contents.judge(one, verdicts[number % 6], ratio=ratio, memory=memory, results=agreement)
    whole = content(*found)
    whole["gnnbench"]["compared"] = contents.COMPARED
    return whole


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


TEXTS = """
() => {
  const kinds = ["h1", "p", "th", "td", "dt", "dd", "li"].map((name) => `main ${name}`).join(", ");
  const shown = [...document.querySelectorAll(kinds)].filter((one) =>
    one.checkVisibility() && one.textContent.trim() && !one.querySelector("table, ul, dl"));
  return shown.flatMap((one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    const label = getComputedStyle(one, "::before").position === "absolute" ? 1 : 0;
    const box = range.getBoundingClientRect().toJSON();
    const lines = Math.round(box.height / parseFloat(getComputedStyle(one).lineHeight));
    return [{ text: one.textContent.trim(), lines, label, box }];
  });
}
"""
"""Each piece of text in a page, with its lines and its box."""
FEWEST = 6
"""Letters a line at least, of a text of several lines."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_text_lies_over_another_or_stands_one_letter_a_line(report, visit, scheme):
    """With all columns that a page can have, those of memory and outputs too."""
    shown = visit(report(several()), color_scheme=scheme).page
    for width in WIDTHS:
        shown.set_viewport_size({"width": width, "height": 900})
        texts = shown.evaluate(TEXTS)
        assert {"memory", "outputs"} <= {one["text"] for one in texts}
        narrow = [one["text"] for one in texts if len(one["text"]) < FEWEST * (one["lines"] - 1)]
        assert narrow == [], width
        assert [one["text"] for one in texts if one["label"]] == [], "a label that lies over its text"
        assert overlapping(sorted(texts, key=lambda one: one["box"]["top"]), near=60) == [], width


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


def overlapping(texts, near=None):
    """Return the pairs of texts that are on top of each other, each of the `near` ones before it."""

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
        for other in texts[max(place - (near or place), 0) : place]
        if not apart(one["box"], other["box"])
    ]
