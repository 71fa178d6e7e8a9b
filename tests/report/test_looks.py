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
        if more := MORE.get((name, width)):
            more(shown)


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


def charts_use_the_width_of_a_desktop(shown):
    column = shown.evaluate("document.querySelector('main').clientWidth")
    assert column >= 0.65 * shown.viewport_size["width"]
    for chart in shown.evaluate(CHARTS):
        assert chart["box"]["width"] >= 0.85 * column


def headings_of_graphs_name_them_and_labels_are_whole(shown):
    headings = shown.locator("section[aria-labelledby=platforms] h3").all_inner_texts()
    assert [one.split(", pyg")[0] for one in headings] == ["On cora", "On ogbn-arxiv"]
    texts = shown.locator("section[aria-labelledby=verdicts] svg:visible text").all_text_contents()
    for operation in OPERATIONS:
        for platform in contents.PLATFORMS:
            for graph in ("cora", "ogbn-arxiv"):
                words = f"{operation} fwd {platform} · {graph}".replace(" ·", "").replace(" ", "")
                assert words in {one.replace("·", "").replace(" ", "") for one in texts}
    an_operation_is_broken_between_its_words(shown)


def an_operation_is_broken_between_its_words(shown):
    name = shown.locator("#all > tbody > tr > th", has_text="add_remaining_self_loops").first
    lines = name.evaluate("""
      cell => {
        const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), lines = {};
        while (walker.nextNode()) {
          const text = walker.currentNode;
          for (let place = 0; place < text.length; place++) {
            const range = document.createRange();
            range.setStart(text, place);
            range.setEnd(text, place + 1);
            const top = Math.round(range.getBoundingClientRect().bottom);
            lines[top] = (lines[top] ?? "") + text.data[place];
          }
        }
        return Object.values(lines);
      }
    """)
    assert lines[0] in ("add_", "add_remaining_"), lines


def an_open_row_is_as_wide_as_its_table(shown):
    shown.locator("#all > tbody > tr > th button").first.click()
    shown.locator("#all tr.detail").wait_for()
    first, last = (
        shown.locator(f"#all > thead th:visible >> nth={place}").bounding_box() for place in (0, -1)
    )
    assert last["x"] + last["width"] - first["x"] == pytest.approx(390 - 2 * 12, abs=1)
    shown.locator("#all > tbody > tr > th button").first.click()


MORE = {
    ("report", 390): headings_of_graphs_name_them_and_labels_are_whole,
    ("report", 1280): charts_use_the_width_of_a_desktop,
    ("report", 1920): charts_use_the_width_of_a_desktop,
    ("another", 390): an_open_row_is_as_wide_as_its_table,
}
"""What else is asked of a page in a window of a width."""
