from dataclasses import replace

import pytest

from gnnbench.engine.drive.result import Result, Side
from gnnbench.engine.judge.allowed import Allowed
from gnnbench.engine.judge.comparison import Agreement, Compared, Comparison, Work
from gnnbench.engine.judge.memory import MemoryChange
from gnnbench.engine.judge.verdict import SAME_CODE, Judgement, Thresholds
from gnnbench.engine.measure.fingerprint.difference import Difference
from gnnbench.engine.show import wording
from gnnbench.engine.show.causes import of_result
from gnnbench.engine.show.view import BenchmarkView, View
from gnnbench.engine.show.wording import headline

RATIOS = {"slower": 1.2, "faster": 0.8, "same": 1.0, "undecided": 1.01, "incomparable": None, "ignored": 1.3}


def row(name, judgement, **fields):
    return Compared(name, judgement, None, **fields)


def view(*verdicts):
    benchmarks = tuple(
        BenchmarkView(name := f"b{number}", name, row=row(name, Judgement(verdict, "", RATIOS[verdict])))
        for number, verdict in enumerate(verdicts)
    )
    side = Side("5 runs")
    result = Result("compare", side, side, Comparison([]), Thresholds(0.03))
    return View("report", "run.json", benchmarks=benchmarks, result=result)


def test_of_what_is_slower_than_accepted_the_headline_says_by_how_much():
    first, second = view("slower", "same").benchmarks
    first = replace(first, row=replace(first.row, allowed=Allowed(1.1, 1.05, 1.15, ("safer",))))
    found = replace(view("same"), benchmarks=(first, second)).headline
    assert found == "1 of 2 benchmarks is slower: b0 is 1.09x slower than accepted (1.20x in all)"


def test_what_was_cut_short_is_said_beside_verdicts():
    short = tuple(BenchmarkView(name, name, error="OOM at 12 GiB") for name in ("c0", "c1"))
    known = view("same", "same")
    text = "No slowdown found in 2 benchmarks; 2 same within 3.0%; 2 interrupted"
    assert replace(known, benchmarks=(*known.benchmarks, *short)).headline == text
    assert replace(known, benchmarks=short).headline == "All 2 benchmarks are interrupted"
    gone = replace(known.benchmarks[0], row=row("b0", Judgement("incomparable", "vanished")), error="OOM")
    text = "1 of 2 benchmarks is incomparable; 1 same within 3.0%"
    assert replace(known, benchmarks=(known.benchmarks[1], gone)).headline == text


def test_rows_begin_with_what_failed_and_then_with_what_changed():
    found = view("same", "faster", "slower", "undecided", "slower")
    benchmarks = [*found.benchmarks]
    less, more = MemoryChange("less memory", 2**24, 2**20), MemoryChange("more memory", 2**20, 2**24)
    benchmarks[3] = replace(benchmarks[3], row=replace(benchmarks[3].row, memory=less))
    benchmarks.append(BenchmarkView("b5", "b5", error="OOM"))
    benchmarks.append(BenchmarkView("b6", "b6", row=row("b6", benchmarks[0].row.judgement, memory=more)))
    rows = replace(found, benchmarks=tuple(benchmarks)).rows
    assert [one.fullname for one in rows] == ["b5", "b2", "b4", "b6", "b1", "b3", "b0"]


MORE = MemoryChange("more memory", 2**20, 2**22)


def rows(*verdicts):
    return [
        Compared(f"b{number}", SAME_CODE if verdict == "same code" else Judgement(verdict, "", 1.0), 1e-3)
        for number, verdict in enumerate(verdicts)
    ]


@pytest.mark.parametrize(
    ("verdicts", "text"),
    [
        ((), "The result has no benchmarks"),
        (("slower", "faster", "same"), "1 of 3 benchmarks is slower; 1 faster, 1 same"),
        (("slower",), "The one benchmark is slower"),
        (("accepted", "same"), "No slowdown beyond what is accepted in 2 benchmarks; 1 accepted, 1 same"),
        (("undecided",) * 4, "All 4 benchmarks are undecided"),
        (("undecided", "incomparable"), "1 of 2 benchmarks is undecided, 1 is incomparable"),
        (("same code",), "The one benchmark runs the same code"),
        (("same code", "same code"), "All 2 benchmarks run the same code"),
        ((*["undecided"] * 2, *["same code"] * 2), "2 of 4 benchmarks are undecided; 2 run the same code"),
        (("same code", "same"), "No slowdown found in 2 benchmarks; 1 same, 1 runs the same code"),
    ],
)
def test_it_denies_a_slowdown_only_of_what_was_decided(verdicts, text):
    assert headline(rows(*verdicts)).text == text


def test_more_memory_comes_first_as_it_fails():
    first, second = rows("undecided", "same")
    found = headline([replace(first, memory=MORE), second])
    assert (found.main, found.others) == ("1 of 2 benchmarks needs more memory", "1 same, 1 undecided")
    (slower,) = rows("slower")
    both = headline([slower, replace(second, memory=MORE)])
    assert both.main == "1 of 2 benchmarks is slower, 1 of the 2 needs more memory"
    excused = replace(second, memory=replace(MORE, excused="ignored: known"))
    assert headline([excused]).text == "No slowdown found in 1 benchmark; 1 same, 1 more memory (excused)"


def test_what_is_undecided_on_a_busy_machine_and_what_is_accepted_is_said():
    first, second = rows("undecided", "same")
    assert headline([first, second], busy=True).main == "1 of 2 benchmarks is undecided (busy machine)"
    assert "busy" not in headline([second], busy=True).text
    other = Agreement("differ", "by 2", excused="accepted: on purpose")
    found = headline([replace(first, results=other), second], 0.03)
    assert found.others == "1 same within 3.0%, 1 different output (excused)"


F = "library:Thing.f"


def changed(name, **kinds):
    judgement = Judgement("slower", "it is", 1.2, 1.1, 1.3)
    return Compared(name, judgement, 1e-3, work=Work(Difference(**kinds)))


def caused(*rows):
    return of_result(Result("compare", Side("a"), Side("b"), Comparison(rows), Thresholds(0.03)))


@pytest.mark.parametrize(
    ("kinds", "sentence"),
    [
        ({"functions": (F,)}, "changed code in `Thing.f`"),
        ({"functions": (F,), "head_only": (F,)}, "changed code in `Thing.f` (run only by head)"),
        ({"libraries": ("libm.so",), "settings": ("threads",)}, "different libraries (`libm.so`)"),
        ({"values": ("library.{N}",)}, "different values (`library.{N}`)"),
    ],
)
def test_a_cause_is_named_by_its_kind(kinds, sentence):
    (one,) = caused(changed("a", **kinds), changed("b", **kinds))
    assert one.sentence("`{}`".format) == f"2 slower with {sentence}"


def test_a_function_that_both_sides_run_in_some_benchmark_is_not_marked():
    (one,) = caused(changed("a", functions=(F,)), changed("b", functions=(F,), base_only=(F,)))
    assert one.sentence() == "2 slower with changed code in Thing.f"


def test_a_sentence_begins_with_more_memory_and_ends_with_less():
    (same,) = rows("same")
    assert wording.sentence(replace(same, memory=MORE)).startswith(
        "more memory: 4.0 MiB excluding inputs, 1.0 MiB in the base (4.00x); same, 1.00 ms now, "
    )
    less = replace(same, memory=MemoryChange("less memory", 2**23, 2**21))
    assert wording.sentence(less).endswith(
        "; less memory: 2.0 MiB excluding inputs, 8.0 MiB in the base (0.25x)"
    )
    assert wording.memory_sentence(MemoryChange("more memory", 0, 2**20)).endswith("0 B in the base")
