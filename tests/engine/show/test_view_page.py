import pytest

from gnnbench.engine.show.view import BenchmarkView
from tests.engine.show import contents
from tests.run_files import content, entry, suite
from tests.sampling import sampled

PAYLOADS = (
    "<script>document.body.dataset.hacked=1</script>",
    "</script><!--<img src=x onerror=document.body.dataset.hacked=1>",
    "javascript:document.body.dataset.hacked=1",
    "\"' onmouseover=document.body.dataset.hacked=1 x='",
    "{{ 7 * 7 }} UNIT \u202e\u0000 datum.x",
)
BACKGROUND = "getComputedStyle(document.documentElement).backgroundColor"
INK = "getComputedStyle(document.querySelector('main svg text')).fill"
FOCUSED = "document.activeElement.textContent"


def matching(view, words):
    view.page.locator("output", has_text=f"{words} benchmarks").wait_for()


def header(view, name):
    return view.page.locator("#all thead th", has_text=name)


@pytest.mark.nightly
def test_a_run_of_which_one_benchmark_of_twelve_is_slower(report, visit):
    """One page, of which everything is asked: it takes as long to make as all that is asked."""
    path = report(contents.judged())
    view = visit(path)
    the_keyboard_is_enough(view)
    verdicts_stand_first(view)
    charts_and_tables_are_told_in_words(view)
    a_row_opens_and_shows_what_is_inside(view)
    columns_sort_and_a_row_keeps_what_is_inside(view)
    dark_as_the_system_is_and_print_is_dark_on_white_without_controls(view)
    name = "benchmarks/test_op2.py::test_op2[op2-forward-dgl-float32-int64-cora-256-cpu]"
    fragment = BenchmarkView(name, "").fragment
    a_fragment_opens_its_benchmark(visit(path, fragment=f"#{fragment}"), fragment)


def verdicts_stand_first(view):
    assert view.page.inner_text("h1") == "1 of 12 benchmarks is slower: op0 fwd pyg is 1.49x slower"
    (moved,) = view.page.locator("section[aria-labelledby=verdicts] tbody tr").all_inner_texts()
    assert "1.49x slower" in moved
    assert "counters: +4 aten::add" in moved
    headings = view.page.locator("h2").all_inner_texts()
    assert headings == ["Verdicts", "Benchmarks", "Where it was measured"]


def charts_and_tables_are_told_in_words(view):
    assert view.page.locator("th:not([scope])").count() == 0
    assert view.page.locator("html").get_attribute("lang") == "en"
    ids = view.page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))
    for link in view.page.locator("a").all():
        assert view.page.locator(link.get_attribute("href")).count() == 1
    snapshot = view.page.locator("main").aria_snapshot()
    assert 'img "Forest plot of 12 ratios. 1 of 12 benchmarks is slower' in snapshot
    assert 'searchbox "Filter by words"' in snapshot


def a_row_opens_and_shows_what_is_inside(view):
    view.open("op0 fwd pyg")
    inside = view.page.locator("tr.detail")
    text = inside.inner_text()
    for words in (
        "slower: a reason",
        "base 5, head 1",
        "25%",
        "2.0 KiB",
        "aten::add",
        "torch_sparse::spmm_sum",
    ):
        assert words in text
    chart = inside.locator("figure svg")
    assert chart.locator("circle").count() == 40
    assert "op0 fwd pyg" in inside.locator("[role=img]").first.get_attribute("aria-label")
    view.page.locator("#all tbody button[aria-expanded=true]").click()
    assert view.page.locator("tr.detail").count() == 0


def columns_sort_and_a_row_keeps_what_is_inside(view):
    names = view.rows()
    view.open("op0 fwd pyg")
    ratio = header(view, "ratio")
    ratio.locator("button").click()
    assert ratio.get_attribute("aria-sort") == "descending"
    assert view.rows()[0] == "op0 fwd pyg"
    ratio.locator("button").click()
    assert ratio.get_attribute("aria-sort") == "ascending"
    assert view.rows()[-1] == "op0 fwd pyg"
    assert view.page.locator("#all > tbody > tr").last.get_attribute("class") == "detail"
    header(view, "benchmark").locator("button").click()
    assert view.rows() == sorted(names)
    assert view.page.locator("#all thead th[aria-sort]").count() == 1


def dark_as_the_system_is_and_print_is_dark_on_white_without_controls(view):
    for scheme, background, ink in (
        ("light", "rgb(255, 255, 255)", "rgb(26, 29, 33)"),
        ("dark", "rgb(20, 23, 26)", "rgb(232, 234, 237)"),
    ):
        view.page.emulate_media(color_scheme=scheme)
        assert (view.page.evaluate(BACKGROUND), view.page.evaluate(INK)) == (background, ink)
    view.page.emulate_media(media="print", color_scheme="dark")
    assert view.page.evaluate(BACKGROUND) == "rgb(255, 255, 255)"
    assert view.page.evaluate(INK) == "rgb(0, 0, 0)"
    assert not view.page.locator("form").first.is_visible()
    assert view.page.pdf(format="A4").startswith(b"%PDF")


def the_keyboard_is_enough(view):
    seen = []
    for _ in range(80):
        view.page.keyboard.press("Tab")
        seen.append(view.page.evaluate(f"{FOCUSED}.trim().slice(0, 40)"))
        if view.page.evaluate("document.activeElement.matches('#all > tbody > tr > th button')"):
            break
    assert seen[0] == "Skip to the content"
    assert {"Verdicts", "ratio"} <= set(seen)
    view.page.keyboard.press("Enter")
    assert view.page.locator("tr.detail").count() == 1
    assert view.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    view.page.keyboard.press("Space")
    assert view.page.locator("tr.detail").count() == 0


def a_fragment_opens_its_benchmark(view, fragment):
    view.page.locator("tr.detail").wait_for()
    row = view.page.locator(f"#{fragment}")
    assert row.locator("button").get_attribute("aria-expanded") == "true"
    assert view.page.evaluate(FOCUSED) == "op2 fwd dgl"
    view.page.fill("input[name=words]", "op1 DGL")
    matching(view, "1 of 12")
    assert view.rows() == ["op1 fwd dgl"]
    view.page.locator("section[aria-labelledby=verdicts] tbody a").click()
    matching(view, "12 of 12")
    assert view.page.evaluate(FOCUSED) == "op0 fwd pyg"
    assert view.page.locator("tr.detail").count() == 2


@pytest.mark.nightly
def test_of_many_rows_some_are_shown_and_all_are_found(report, visit):
    names = [f"b{number:03}" for number in range(210)]
    path = report(content(*(entry(name, 1 + number, blocks=3) for number, name in enumerate(names))))
    view = visit(path)
    assert view.rows() == names[:200]
    button = header(view, "benchmark").locator("button")
    button.click()
    button.click()
    assert view.rows() == names[:9:-1]
    view.page.fill("input[name=words]", "b1")
    matching(view, "100 of 210")
    assert view.rows() == names[199:99:-1]
    view.page.locator("button[type=reset]").click()
    matching(view, "210 of 210")
    view.page.locator("button", has_text="Show 10 more").click()
    assert view.rows() == names[::-1]
    fragment = BenchmarkView("test_a.py::b209", "").fragment
    view = visit(path, fragment=f"#{fragment}")
    view.page.locator("tr.detail").wait_for()
    assert view.page.locator(f"#{fragment}").is_visible()


def poisoned(value, payload, path=()):
    """Put a payload after each string of a file, keys of counters included, where anything may stand."""
    if isinstance(value, dict):
        return {
            (f"{key}{payload}" if path[-2:-1] == ("counts",) else key): poisoned(one, payload, (*path, key))
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [poisoned(one, payload, (*path, "")) for one in value]
    fixed = path[-1:] and path[-1] in ("verdict", "direction", "command", "layouts", "stopped_by")
    return f"{value}{payload}" if isinstance(value, str) and not fixed else value


@pytest.mark.parametrize("payload", sampled(PAYLOADS, 1, seed=3))
def test_what_is_in_a_file_is_text(report, visit, payload):
    head = contents.family(9, operations=1)
    verdicts = zip(head["benchmarks"], ("slower", "faster", "incomparable", "same"), strict=True)
    rows = [contents.row(one["fullname"], verdict, work=contents.work("scale")) for one, verdict in verdicts]
    head["gnnbench"]["compared"] = contents.compared(*rows)
    head["gnnbench"]["incomplete"] = [{"fullname": "test_x.py::x", "error": "OOM", "measurement": None}]
    view = visit(report(poisoned(head, payload)))
    for button in view.page.locator("#all > tbody > tr > th button").all():
        button.click()
    view.page.mouse.move(300, 300)
    assert view.page.locator("tr.detail figure svg").count() == 4
    assert view.page.locator("body[data-hacked]").count() == 0
    assert view.page.locator("img, iframe, object, embed, link:not([rel=icon]), base").count() == 0
    links = view.page.locator("a").all()
    assert [one for one in links if not one.get_attribute("href").startswith("#")] == []
    assert view.page.locator("script").count() == 3
    attributes = (
        "[...document.querySelectorAll('*')].flatMap(one => [...one.attributes].map(each => each.name))"
    )
    assert [name for name in view.page.evaluate(attributes) if name.startswith("on")] == []
    shown = payload.replace("\u202e\u0000", "??")
    assert shown.strip() in view.page.inner_text("main")


def test_a_script_that_is_not_ours_does_not_run(report, visit, tmp_path):
    strangers = (
        "<script>document.body.dataset.hacked=1</script>"
        "<img src=data:, onerror=document.body.dataset.hacked=1>"
    )
    file = tmp_path / "stranger.html"
    file.write_text(report(suite(1)).read_text().replace("</main>", f"{strangers}</main>"))
    view = visit(file)
    assert view.page.locator("body[data-hacked]").count() == 0
    refused = [line for line in view.said if "Content Security Policy" in line]
    assert any("inline script" in line for line in refused)
    assert any("inline event handler" in line for line in refused)
    view.said.clear()


def test_pages_of_little_or_nothing(report):
    """Read from their source, as a browser has no part in them."""
    text = report(content()).read_text()
    assert "<h1>This file has no benchmarks</h1>" in text
    assert "<table" not in text
    assert "<svg" not in text
    oom = [{"fullname": f"test_a.py::{name}", "error": "OOM at 12 GiB", "measurement": None} for name in "ab"]
    head = content()
    head["gnnbench"]["incomplete"] = oom
    assert "<h1>All 2 benchmarks are interrupted</h1>" in report(head).read_text()
