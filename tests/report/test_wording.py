from dataclasses import replace
from types import SimpleNamespace

import pytest

from gnnbench.compare.allowed import Allowed
from gnnbench.compare.comparison import Compared
from gnnbench.compare.memory import MemoryChange
from gnnbench.compare.verdict import Judgement, Thresholds
from gnnbench.report.measured import Measured
from gnnbench.report.verdicts import COLUMNS
from gnnbench.report.view import BenchmarkView, JudgedBy, View
from gnnbench.report.wording import headline, moved, ordered, whole

RATIOS = {"slower": 1.2, "faster": 0.8, "same": 1.0, "undecided": 1.01, "incomparable": None, "ignored": 1.3}


def row(name, judgement, **fields):
    return Compared(name, judgement, None, **fields)


def view(*verdicts, shared=None):
    benchmarks = tuple(
        BenchmarkView(name := f"b{number}", name, "", row=row(name, Judgement(verdict, "", RATIOS[verdict])))
        for number, verdict in enumerate(verdicts)
    )
    return View(
        "run", "run.json", benchmarks=benchmarks, judged=JudgedBy(Thresholds(0.03), "5 runs", shared=shared)
    )


@pytest.mark.parametrize(
    ("verdicts", "text"),
    [
        (("slower", "same"), "1 of 2 benchmarks is slower: b0 is 1.20x slower"),
        (("slower", "slower"), "2 of 2 benchmarks are slower; b0 is 1.20x slower"),
        (("same", "same"), "No slowdown found in 2 benchmarks: 2 same within 3.0%"),
    ],
)
def test_the_headline_names_what_is_slower(verdicts, text):
    assert headline(view(*verdicts)) == text


def test_the_headline_begins_with_the_run_as_a_whole():
    assert headline(view("same", "same", shared=Judgement("slower", "", 1.1))) == (
        "All benchmarks together: 1.10x slower; relative to that, no slowdown found in 2 benchmarks: "
        "2 same within 3.0%"
    )


def test_of_what_is_slower_than_accepted_the_headline_says_by_how_much():
    first, second = view("slower", "same").benchmarks
    first = replace(first, row=replace(first.row, allowed=Allowed(1.1, 1.05, 1.15, ("safer",))))
    found = headline(replace(view("same"), benchmarks=(first, second)))
    assert found == "1 of 2 benchmarks is slower: b0 is 1.09x slower than accepted (1.20x in all)"


def test_what_was_cut_short_is_said_beside_verdicts():
    short = tuple(BenchmarkView(name, name, "", error="OOM at 12 GiB") for name in ("c0", "c1"))
    known = view("same", "same")
    text = "No slowdown found in 2 benchmarks: 2 same within 3.0%; 2 interrupted"
    assert headline(replace(known, benchmarks=(*known.benchmarks, *short))) == text
    assert headline(replace(known, benchmarks=short)) == "All 2 benchmarks are interrupted"
    gone = replace(known.benchmarks[0], row=row("b0", Judgement("incomparable", "vanished")), error="OOM")
    text = "No slowdown found in 1 of 2 benchmarks: 1 same within 3.0%, 1 incomparable"
    assert headline(replace(known, benchmarks=(known.benchmarks[1], gone))) == text


def test_the_grounds_of_the_whole():
    assert whole(Judgement("slower", "a reason", 1.061, 1.04, 1.08)) == "1.06x (1.04-1.08), a reason"
    assert whole(Judgement("undecided", "a reason", 1.061)) == "1.06x, a reason"
    assert whole(Judgement("incomparable", "a reason")) == "a reason"


def test_rows_begin_with_what_failed_and_then_with_what_changed():
    benchmarks = [*view("same", "faster", "slower", "undecided", "slower").benchmarks]
    assert [one.fullname for one in moved(benchmarks[:3])] == ["b2", "b1"]
    less, more = MemoryChange("less memory", 2**24, 2**20), MemoryChange("more memory", 2**20, 2**24)
    benchmarks[3] = replace(benchmarks[3], row=replace(benchmarks[3].row, memory=less))
    benchmarks.append(BenchmarkView("b5", "b5", "", error="OOM"))
    benchmarks.append(BenchmarkView("b6", "b6", "", row=replace(benchmarks[0].row, memory=more)))
    assert [one.fullname for one in ordered(benchmarks)] == ["b2", "b4", "b5", "b6", "b1", "b3", "b0"]


@pytest.mark.parametrize(
    ("bounds", "found"),
    [((0.98, 1.05), "5.0%"), ((None, 1.004), "?"), ((0.99, None), "?"), ((None, None), "?")],
)
def test_a_spread_needs_both_bounds(bounds, found):
    (column,) = (one for one in COLUMNS if one.title == "±")
    row = SimpleNamespace(time=Measured(1.0, *bounds, 0.99, "first decile"))
    assert column.shown(column.of(row)).text == found
    assert column.shown(column.of(SimpleNamespace(time=None))).text == ""
