"""The page in a real browser."""

import re
import shlex

import pytest

from gnnbench.report import page, view_page
from gnnbench.report.view import BenchmarkView
from tests.report import contents
from tests.run_files import content, entry, plain, suite

PAYLOADS = (
    "<script>document.body.dataset.hacked=1</script>",
    "</script><!--<img src=x onerror=document.body.dataset.hacked=1>",
    "javascript:document.body.dataset.hacked=1",
    "\"' onmouseover=document.body.dataset.hacked=1 x='",
    "{{ 7 * 7 }} UNIT \u202e\u0000 datum.x",
)


COMPARED = {
    "effect": 0.03,
    "family_level": 0.99,
    "own_level": 0.95,
    "shared": None,
    "turns": [{"against": "0001", "base": {}, "seconds": 9.0, "repeat": contents.REPEAT}],
}


@pytest.fixture
def slower(report):
    """A page of a run against five, of which one benchmark of twelve is slower."""
    return report(
        contents.family(9, factor=1.5), *(contents.family(seed) for seed in range(5)), contents.profile("pyg")
    )


def test_verdicts_stand_first(slower, visit):
    view = visit(slower)
    assert view.page.inner_text("h1") == "1 of 12 benchmarks is slower: op0 fwd is 1.49x slower on pyg"
    moved = view.page.locator("section[aria-labelledby=verdicts] tbody tr").all_inner_texts()
    assert len(moved) == 1
    assert "1.49x slower" in moved[0]
    assert "counters: +4 aten::add" in moved[0]
    headings = view.page.locator("h2").all_inner_texts()
    assert headings == ["Verdicts", "Phases", "Platforms side by side", "Benchmarks", "Where it was measured"]


def test_what_slower_benchmarks_share_stands_above_them(report, visit):
    head = contents.family(9, operations=1)
    functions = ("scale",), ("other",), ("scale", "more"), ("scale",)
    for number, (one, names) in enumerate(zip(head["benchmarks"], functions, strict=True)):
        verdict = {**contents.judgement("slower"), **contents.work(*names), "ratio": 1.2 + number / 100}
        one["extra_info"]["gnnbench"]["comparison"] = {**verdict, "in_turns": True}
    head["gnnbench"]["compared"] = COMPARED
    view = visit(report(head))
    first, second = view.page.locator(".causes > li").all()
    platforms = [one["extra_info"]["gnnbench"]["spec"]["platform"] for one in head["benchmarks"]]
    names = [f"op0 fwd {platforms[number]}" for number in (3, 2, 0, 1)]
    assert first.inner_text().splitlines()[0] == (
        f"3 slower through scale, each with +1 aten::mm: {', '.join(names[:3])}"
    )
    assert second.inner_text().startswith(f"1 slower through other, with +1 aten::mm: {names[3]}")
    ids = [head["benchmarks"][number]["fullname"] for number in (3, 2, 0)]
    assert [one.inner_text() for one in first.locator("dd").all()] == [
        f"gnnbench ab git:main . -- -m core {shlex.join(ids)}",
        f"gnnbench bisect git:main git:HEAD -- -m core {shlex.join(ids)}",
    ]
    rows = view.page.locator("section[aria-labelledby=verdicts] tbody th").all_inner_texts()
    assert rows == names, "the rows of a cause stand together"
    view.page.locator(".causes a").first.click()
    view.page.locator("tr.detail").wait_for()
    assert view.page.evaluate("document.activeElement.textContent") == names[0]


def test_a_row_opens_and_shows_what_is_inside(slower, visit):
    view = visit(slower)
    view.open("op0 fwd pyg")
    inside = view.page.locator("tr.detail")
    text = inside.inner_text()
    for words in (
        "slower: the simultaneous 99% interval",
        "5 older, 1 newer",
        "25%",
        "2.0 KiB",
        "aten::add",
        "torch_sparse::spmm_sum",
    ):
        assert words in text
    chart = inside.locator("figure svg")
    assert chart.locator("g.mark-symbol path").count() == 6 * 40
    assert "op0 fwd pyg" in inside.locator("[role=img]").first.get_attribute("aria-label")
    assert inside.locator("table", has_text="median").locator("tbody tr").count() == 6
    view.page.locator("#all tbody button[aria-expanded=true]").click()
    assert view.page.locator("tr.detail").count() == 0


def test_columns_sort_and_a_row_keeps_what_is_inside(slower, visit):
    view = visit(slower)
    names = view.rows()
    view.open("op0 fwd pyg")
    header = view.page.locator("#all thead th", has_text="ratio")
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    assert view.rows()[0] == "op0 fwd pyg"
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    assert view.rows()[-1] == "op0 fwd pyg"
    assert view.page.locator("#all > tbody > tr").last.get_attribute("class") == "detail"
    view.page.locator("#all thead th", has_text="benchmark").locator("button").click()
    assert view.rows() == sorted(names)
    assert view.page.locator("#all thead th[aria-sort]").count() == 1


def test_words_and_choices_filter(slower, visit):
    view = visit(slower)
    view.page.fill("input[name=words]", "op1 DGL")
    view.page.locator("output", has_text="1 of 12 match").wait_for()
    assert view.rows() == ["op1 fwd dgl"]
    view.page.locator("button[type=reset]").click()
    view.page.locator("output", has_text="12 of 12 match").wait_for()
    view.page.select_option("select[name=platform]", "sparse")
    view.page.locator("output", has_text="3 of 12 match").wait_for()
    view.page.select_option("select[name=verdict]", "slower")
    view.page.locator("output", has_text="0 of 12 match").wait_for()
    assert view.rows() == []


def test_of_many_rows_some_are_shown_and_all_are_found(report, visit):
    names = [f"b{number:03}" for number in range(450)]
    view = visit(report(content(*(entry(name, 1 + number, blocks=3) for number, name in enumerate(names)))))
    assert view.rows() == names[:200]
    header = view.page.locator("#all thead th", has_text="benchmark").locator("button")
    header.click()
    header.click()
    assert view.rows() == names[:249:-1]
    view.page.fill("input[name=words]", "b1")
    view.page.locator("output", has_text="100 of 450 match").wait_for()
    assert view.rows() == names[199:99:-1]
    view.page.locator("button[type=reset]").click()
    view.page.locator("output", has_text="450 of 450 match").wait_for()
    view.page.locator("button", has_text="Show 250 more").click()
    assert view.rows() == names[::-1]
    fragment = view_page.fragment(BenchmarkView("test_a.py::b449", "", ""))
    view = visit(report(content(*(entry(name, blocks=3) for name in names))), fragment=f"#{fragment}")
    view.page.locator("tr.detail").wait_for()
    assert view.page.locator(f"#{fragment}").is_visible()


def test_the_keyboard_is_enough(slower, visit):
    view = visit(slower)
    seen = []
    for _ in range(80):
        view.page.keyboard.press("Tab")
        seen.append(view.page.evaluate("document.activeElement.textContent.trim().slice(0, 40)"))
        if view.page.evaluate("document.activeElement.matches('#all > tbody > tr > th button')"):
            break
    assert seen[0] == "Skip to the content"
    assert {"Dark", "Verdicts", "ratio"} <= set(seen)
    view.page.keyboard.press("Enter")
    assert view.page.locator("tr.detail").count() == 1
    assert view.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    view.page.keyboard.press("Space")
    assert view.page.locator("tr.detail").count() == 0


def test_a_fragment_opens_its_benchmark(slower, visit):
    name = "benchmarks/test_op2.py::test_op2[op2-forward-dgl-float32-int64-cora-256-cpu]"
    fragment = view_page.fragment(BenchmarkView(name, "", ""))
    view = visit(slower, fragment=f"#{fragment}")
    view.page.locator("tr.detail").wait_for()
    row = view.page.locator(f"#{fragment}")
    assert row.locator("button").get_attribute("aria-expanded") == "true"
    assert view.page.evaluate("document.activeElement.textContent") == "op2 fwd dgl"
    view.page.fill("input[name=words]", "op1")
    view.page.locator("output", has_text="4 of 12 match").wait_for()
    view.page.locator("section[aria-labelledby=verdicts] tbody a").click()
    view.page.locator("output", has_text="12 of 12 match").wait_for()
    assert view.page.evaluate("document.activeElement.textContent") == "op0 fwd pyg"
    assert view.page.locator("tr.detail").count() == 2


def test_charts_and_tables_are_told_in_words(slower, visit):
    view = visit(slower)
    charts = view.page.locator("main svg:visible")
    assert charts.count() == 4
    for number in range(charts.count()):
        assert charts.nth(number).get_attribute("role") == "img"
        assert len(charts.nth(number).get_attribute("aria-label")) > 40
    assert view.page.locator("th:not([scope])").count() == 0
    assert view.page.locator("html").get_attribute("lang") == "en"
    ids = view.page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))
    for link in view.page.locator("a").all():
        assert view.page.locator(link.get_attribute("href")).count() == 1
    snapshot = view.page.locator("main").aria_snapshot()
    assert 'img "Forest plot of 12 ratios. 1 of 12 benchmarks is slower' in snapshot
    assert 'searchbox "Filter by words"' in snapshot


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_as_the_system_is_and_as_the_button_says(slower, visit, scheme):
    view = visit(slower, color_scheme=scheme)
    background = "getComputedStyle(document.documentElement).backgroundColor"
    ink = "getComputedStyle(document.querySelector('main svg text')).fill"
    light, dark = ("rgb(255, 255, 255)", "rgb(26, 29, 33)"), ("rgb(20, 23, 26)", "rgb(232, 234, 237)")
    before, after = (light, dark) if scheme == "light" else (dark, light)
    assert (view.page.evaluate(background), view.page.evaluate(ink)) == before
    view.page.click("#theme")
    assert (view.page.evaluate(background), view.page.evaluate(ink)) == after
    view.page.reload()
    assert view.page.evaluate(background) == after[0]


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_is_wide_enough(slower, visit, width):
    view = visit(slower, viewport={"width": width, "height": 800})
    view.open("op0 fwd pyg")
    assert view.page.evaluate("document.documentElement.scrollWidth") == width
    assert view.page.locator("#all thead th", has_text="verdict").is_visible()
    assert not view.page.locator("#all thead th", has_text="operators").is_visible()


def test_print_is_dark_on_white_and_without_controls(slower, visit):
    view = visit(slower, color_scheme="dark")
    view.page.emulate_media(media="print")
    assert (
        view.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    assert (
        view.page.evaluate("getComputedStyle(document.querySelector('main svg text')).fill") == "rgb(0, 0, 0)"
    )
    assert not view.page.locator("#theme").is_visible()
    assert not view.page.locator("form").first.is_visible()
    assert view.page.pdf(format="A4").startswith(b"%PDF")


def poisoned(value, payload, path=()):
    """Put a payload after each string of a file, keys of counters included, where anything may stand."""
    if isinstance(value, dict):
        return {
            (f"{key}{payload}" if path[-2:-1] == ("counts",) else key): poisoned(one, payload, (*path, key))
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [poisoned(one, payload, (*path, "")) for one in value]
    fixed = path[-1:] in (("verdict",), ("direction",), ("against",)) or path[-2:] == ("layouts",)
    return f"{value}{payload}" if isinstance(value, str) and not fixed else value


@pytest.mark.parametrize("payload", PAYLOADS)
def test_what_is_in_a_file_is_text(report, visit, payload):
    head = contents.family(9, operations=1)
    for one, verdict in zip(head["benchmarks"], ("slower", "faster", "incomparable", "same"), strict=True):
        one["extra_info"]["gnnbench"]["comparison"] = {
            **contents.judgement(verdict),
            **contents.work("scale"),
            "in_turns": True,
        }
    head["gnnbench"]["compared"] = COMPARED
    head["gnnbench"]["incomplete"] = [{"fullname": "test_x.py::x", "error": "OOM", "measurement": None}]
    profiles = [contents.profile("pyg"), contents.profile("torch")]
    for one in profiles:
        one["id"] += payload
        one["environment"] = poisoned(one["environment"], payload)
        one["spec"] = poisoned(one["spec"], payload)
        for tree in ("phases", "layers"):
            for row in one["sections"][tree]["rows"]:
                row["path"] = [f"{name}{payload}" for name in row["path"]]
    view = visit(report(poisoned(head, payload), *profiles))
    for button in view.page.locator("#all > tbody > tr > th button").all():
        button.click()
    view.page.mouse.move(300, 300)
    assert view.page.locator("tr.detail figure svg").count() == 4
    assert view.page.locator("body[data-hacked]").count() == 0
    assert view.page.locator("img, iframe, object, embed, link:not([rel=icon]), base").count() == 0
    assert [
        one for one in view.page.locator("a").all() if not one.get_attribute("href").startswith("#")
    ] == []
    scripts = view.page.locator("script").all()
    assert len(scripts) == 5
    attributes = (
        "[...document.querySelectorAll('*')].flatMap(one => [...one.attributes].map(each => each.name))"
    )
    assert [name for name in view.page.evaluate(attributes) if name.startswith("on")] == []
    shown = payload.replace("\u202e\u0000", "\ufffd\ufffd")
    assert shown.strip() in view.page.inner_text("main")


def test_a_script_that_is_not_ours_does_not_run(report, visit, tmp_path):
    text = report(suite(1)).read_text()
    file = tmp_path / "stranger.html"
    for stranger in (
        "<script>document.body.dataset.hacked=1</script>",
        "<img src=data:, onerror=document.body.dataset.hacked=1>",
    ):
        file.write_text(text.replace("</main>", f"{stranger}</main>"))
        view = visit(file)
        assert view.page.locator("body[data-hacked]").count() == 0
        assert any("Content Security Policy" in line for line in view.said)
        view.said.clear()


def test_nothing_at_all(report, visit):
    view = visit(report(content()))
    assert view.page.inner_text("h1") == "This file has no benchmarks"
    assert view.page.locator("table, svg").count() == 0


def test_one_sample(report, visit):
    view = visit(report(content(entry("b", blocks=1))))
    assert view.page.inner_text("h1") == "1 benchmark, not compared with a baseline"
    view.open("b")
    assert view.page.locator("tr.detail g.mark-symbol path").count() == 1
    assert "too few blocks" in view.page.inner_text("tr.detail")


def test_an_interval_without_a_lower_bound_is_a_question_mark_as_in_the_terminal(report):
    """Read from the page's source, as it has no part in what a browser does."""
    page = report(content(entry("few", blocks=20), entry("many", blocks=200))).read_text()
    few, many = (
        re.search(rf'<th scope="row">{name}.*?</tr>', page, re.DOTALL).group() for name in ("few", "many")
    )
    assert '<td class="aside">?</td>' in few
    assert "?" not in many
    assert "no interval (&#39;?&#39;): too few blocks; raise --benchmark-max-time: few" in page


def test_all_undecided(report, visit):
    head, *base = (contents.family(seed, operations=1, blocks=12) for seed in range(3))
    view = visit(report(head, *base, options=["--effect", "0.1%"]))
    assert view.page.inner_text("h1") == "None of 4 benchmarks could be decided: 4 undecided"
    assert view.page.locator("#all td.undecided").count() == 4


def test_all_cut_short(report, visit):
    oom = [
        {"fullname": f"test_a.py::{name}", "error": "OOM at 12 GiB", "measurement": None}
        for name in ("a", "b")
    ]
    head = content()
    head["gnnbench"]["incomplete"] = oom
    view = visit(report(head))
    assert view.page.inner_text("h1") == "All 2 benchmarks are interrupted"
    assert view.page.locator("section[aria-labelledby=incomplete] li").all_inner_texts() == [
        "a: OOM at 12 GiB",
        "b: OOM at 12 GiB",
    ]
    assert view.rows() == ["a", "b"]


def test_files_of_pytest_benchmark_alone(report, visit):
    view = visit(report(plain(9), *(plain(seed) for seed in range(4))))
    assert view.rows() == ["p0", "p1", "p2", "p3"]
    view.open("p0")
    assert "200" in view.page.inner_text("tr.detail table")
    bare = visit(report(plain(1, data=False)))
    bare.open("p0")
    assert "median of pytest-benchmark" in bare.page.inner_text("tr.detail")


def test_layouts_that_are_left_out_are_said(report, visit, monkeypatch):
    monkeypatch.setattr("gnnbench.report.numbers._POINTS", 12 * 20)
    view = visit(report(contents.family(1)))
    assert "12 benchmarks with more layouts than are drawn: 20 per process" in view.page.inner_text("main")
    view.open("op0 fwd pyg")
    assert view.page.locator("tr.detail g.mark-symbol path").count() == 20
    assert "40" in view.page.locator("tr.detail table tbody td").first.inner_text()


def test_profiles_stand_side_by_side(report, visit):
    view = visit(
        report(*(contents.profile(name, scale=1 + number) for number, name in enumerate(contents.PLATFORMS)))
    )
    assert view.page.inner_text("h1") == "Where the time of epoch train on cora goes"
    assert view.page.locator("h3").all_inner_texts() == [
        "epoch train on cora, phases: pyg spends 50% of its time in backward",
        "epoch train on cora, layers: pyg spends 50% of its time in backward",
    ]
    view.page.locator("summary").first.click()
    table = view.page.locator("table").first
    assert table.locator("thead th").all_inner_texts() == ["range", *contents.PLATFORMS]
    assert (
        re.sub(r"\s+", " ", table.locator("tbody tr").first.inner_text())
        == "forward 4.00 ms 8.00 ms 12.0 ms 16.0 ms"
    )


def test_a_calibration(report, visit):
    view = visit(report(contents.calibration()))
    assert view.page.inner_text("h1") == "Calibration of gnnbench ab on this machine"
    assert "A slowdown of 8.0% is found in 2 of 2 benchmarks; 0 of 8 (at most 37%)" in view.page.inner_text(
        "h3"
    )
    assert view.page.locator("main svg text", has_text="4 of 4").count() == 5


def test_our_scripts_end_where_they_end():
    for name in ("theme.js", "table.js", "report.js"):
        text = page._text(name).lower()
        assert "</script" not in text
        assert "<!--" not in text
