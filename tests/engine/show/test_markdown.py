from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnnbench.engine.drive.repeat import Repeat
from gnnbench.engine.drive.result import Result, Side
from gnnbench.engine.judge.comparison import Agreement, Compared, Comparison, Work
from gnnbench.engine.judge.verdict import Judgement, Thresholds
from gnnbench.engine.measure.fingerprint.difference import Difference
from gnnbench.engine.show.markdown import MOST_CHARACTERS, write
from tests.gfm import hostile, render
from tests.run_files import ENVIRONMENT

SAME = Judgement("same", "the 95% interval lies within 3.0%", 1.001, 0.99, 1.01, 0.995, 1.005, 0.02)
SLOWER = replace(SAME, verdict="slower", reason="it is", ratio=1.31, low=1.2, high=1.42)
FASTER = replace(SAME, verdict="faster", reason="it is", ratio=0.5, low=0.4, high=0.6)
UNDECIDED = replace(SAME, verdict="undecided", reason="the interval is too wide")
KNOWN = {
    *("table", "thead", "tbody", "tr", "th", "td", "p", "ul", "li", "code", "strong", "br"),
    *("details", "summary"),
}
"""Elements of a comment."""
GONE = Judgement("incomparable", "missing: in the baseline, but not timed in this run")


def section(*rows, base="git:main (1a2b3c4d)", head=".", machine="AMD EPYC", **more):
    here, parts = replace(ENVIRONMENT, cpu=machine), {"path": Path("ab.json"), **more}
    return Result("ab", Side(base), Side(head), Comparison(list(rows)), Thresholds(0.03), here, **parts)


def suite(count, name="test_a.py::b[{}]"):
    moved = [
        Compared(name.format(0), FASTER, 1e-3),
        Compared(name.format(1), SLOWER, 2e-3, notes=("counters: +1 aten::mm",)),
    ]
    rest = (Compared(name.format(number), (SAME, UNDECIDED)[number % 2], 1e-3) for number in range(2, count))
    return [*rest, *moved]


def test_the_verdict_comes_first_then_what_moved_then_the_rest_folded():
    text = write(section(*suite(44)), title="GCN kernels")
    lines = text.splitlines()
    assert lines[0] == "**1 of 44 benchmarks is slower**; 1 faster, 21 same, 21 undecided · GCN kernels"
    page = render(text)
    assert page.tags["details"] == 1
    top, folded = text.split("<details>")
    assert [row[:2] for row in render(top).rows[1:]] == [["b[1]", "slower"], ["b[0]", "faster"]]
    assert "- `b[1]`: counters: +1 `aten::mm`" in top
    assert ", on `AMD EPYC`: `test_a.py::`\n" in top
    assert len(render(folded.partition("</summary>")[2]).rows) == 43
    assert len(page.rows) == 46
    assert {len(row) for row in page.rows} == {5, 6}, "decided ones have no MDE"
    assert "git:main (1a2b3c4d)" in page.codes


def test_another_result_that_is_accepted_is_shown_above_the_unchanged():
    """As more memory that is accepted is."""
    accepted = Agreement("differ", "output: 3 of 9 values", excused="accepted: it rounds now")
    one = Compared("test_a.py::test_rounded", SAME, 1e-3, results=accepted)
    top, _ = write(section(*suite(44), one)).split("<details>")
    assert ["test_rounded", "same"] in [row[:2] for row in render(top).rows]
    assert "it rounds now" in top


def changed(name, *functions, ratio=1.3, notes=()):
    """Return a slower benchmark in which functions changed."""
    work = Work(Difference(tuple(f"library:{one}" for one in functions)))
    return Compared(name, replace(SLOWER, ratio=ratio), 1e-3, notes=(*work.notes(), *notes), work=work)


def with_causes(*rows, **changes):
    return section(*rows, repeat=Repeat("git:main", ".", ("git:main", "git:HEAD")), **changes)


def test_causes_give_way_where_a_command_or_a_comment_would_be_too_long():
    rows = [changed(f"test_a.py::{number}{'x' * 600}", "scale") for number in range(5)]
    assert "gnnbench ab" not in write(with_causes(*rows))
    rows = [changed(f"test_a.py::{'x' * 180}{number}", f"f{number}") for number in range(9)]
    assert len(write(with_causes(*rows), most=3000)) <= 3000


@pytest.mark.parametrize(
    ("count", "name"),
    [
        (500, "b[{}]" + "x" * 90),
        (300, "b[{}]" + "`|" * 300),
        (300, "{}" + "\U0001f600" * 300),
        pytest.param(500, "{}" + "\ud800" * 300, marks=pytest.mark.nightly),
    ],
    ids=["500 short", "backticks", "wide", "surrogates"],
)
def test_many_benchmarks_with_long_names_fit_and_what_is_left_out_is_said(count, name):
    text = write(section(*suite(count, name)))
    assert len(text.encode("utf-16-le")) // 2 <= MOST_CHARACTERS
    assert len(text) > MOST_CHARACTERS / 2, "as much as fits is there"
    page = render(text)
    shown = sum(row[0] != "benchmark" for row in page.rows)
    assert f"{count - shown} benchmarks" in text
    assert "see `ab.json`" in text
    assert [row[1] for row in page.rows[1:3]] == ["slower", "faster"]


def test_what_is_left_out_is_in_the_full_report_if_there_is_one():
    linked = write(section(*suite(100)), details_url="https://example.org", most=3000)
    assert "see [the full report](https://example.org)" in linked


_ROWS = st.builds(
    lambda name, judgement, reason, function, notes: Compared(
        name,
        replace(judgement, reason=reason),
        1e-3,
        notes=tuple(notes),
        work=Work(Difference((f"library:{function}",))),
    ),
    hostile,
    st.sampled_from((SAME, SLOWER, FASTER, UNDECIDED, GONE)),
    hostile,
    hostile,
    st.lists(hostile, max_size=2),
)


_RESULTS = st.lists(_ROWS, max_size=25, unique_by=lambda row: row.fullname)


@settings(deadline=None)
@given(_RESULTS, hostile, hostile, hostile, hostile, st.lists(hostile, max_size=3))
def test_nothing_that_others_wrote_is_more_than_text(rows, base, head, machine, title, notes):
    sides = {"base": base, "head": head, "machine": machine, "path": Path(base), "notes": tuple(notes)}
    page = render(write(with_causes(*rows, **sides), title=title))
    assert set(page.tags) <= KNOWN
    assert not page.attributes
    assert not page.comments
    assert page.tags["details"] == 1
    assert all(2 <= len(row) <= 6 for row in page.rows)
    assert sum(row[0] != "benchmark" for row in page.rows) == len(rows)
    assert not set(page.plain) & set("@#<>&$_*~[]`|\\/")
