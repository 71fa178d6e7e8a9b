from dataclasses import replace

import pytest

from gnnbench.compare.comparison import Compared
from gnnbench.compare.memory import MemoryChange
from gnnbench.compare.verdict import SAME_CODE, Judgement
from gnnbench.report.headline import headline

MORE = MemoryChange("more memory", 2**20, 2**22)


def rows(*verdicts):
    return [
        Compared(f"b{number}", SAME_CODE if verdict == "same code" else Judgement(verdict, "", 1.0), 1e-3)
        for number, verdict in enumerate(verdicts)
    ]


@pytest.mark.parametrize(
    ("verdicts", "text"),
    [
        ((), "No benchmark in the result"),
        (("slower", "faster", "same"), "1 of 3 benchmarks is slower: 1 faster, 1 same"),
        (("slower",), "1 of 1 benchmark is slower"),
        (("slower", "slower"), "2 of 2 benchmarks are slower"),
        (("same", "faster"), "No slowdown found in 2 benchmarks: 1 faster, 1 same"),
        (("accepted", "same"), "No slowdown beyond what is accepted in 2 benchmarks: 1 accepted, 1 same"),
        (("same", "same", "undecided"), "No slowdown found in 2 of 3 benchmarks: 2 same, 1 undecided"),
        (("same", "incomparable"), "No slowdown found in 1 of 2 benchmarks: 1 same, 1 incomparable"),
        (("undecided",) * 4, "None of 4 benchmarks could be decided: 4 undecided"),
        (
            ("undecided", "incomparable", "ignored"),
            "None of 3 benchmarks could be decided: 1 undecided, 1 incomparable, 1 ignored",
        ),
        (("undecided",), "The one benchmark could not be decided: 1 undecided"),
        (("ignored", "ignored"), "All 2 benchmarks are ignored"),
        (("same code",), "The one benchmark runs the same code"),
        (("same code", "same code"), "All 2 benchmarks run the same code"),
        (("same code", "undecided"), "No slowdown found in 1 of 2 benchmarks: 1 same, 1 undecided"),
    ],
)
def test_it_denies_a_slowdown_only_of_what_was_decided(verdicts, text):
    assert headline(rows(*verdicts)).whole == text


def test_more_memory_comes_first_as_it_fails():
    first, second = rows("undecided", "same")
    found = headline([replace(first, memory=MORE), second])
    assert (found.said, found.others) == ("1 of 2 benchmarks needs more memory", "1 same, 1 undecided")
    (slower,) = rows("slower")
    assert headline([slower, replace(second, memory=MORE)]).said == (
        "1 of 2 benchmarks is slower, 1 needs more memory"
    )
    excused = replace(second, memory=replace(MORE, excused="known"))
    assert headline([excused]).said == "No slowdown found in 1 benchmark"


def test_the_effect_says_what_same_means():
    assert headline(rows("same"), effect=0.05).others == "1 same within 5.0%"


@pytest.mark.parametrize(
    ("shared", "text"),
    [
        (
            Judgement("slower", "", 1.1),
            "All benchmarks together: 1.10x slower; relative to that, no slowdown",
        ),
        (
            Judgement("faster", "", 0.8),
            "All benchmarks together: 1.25x faster; relative to that, no slowdown",
        ),
        (
            Judgement("undecided", "", 1.1),
            "All benchmarks together: undecided; relative to that, no slowdown found in 2",
        ),
        (
            Judgement("incomparable", ""),
            "All benchmarks together: incomparable; relative to that, no slowdown",
        ),
        (Judgement("same", "", 1.0), "No slowdown found in 2 benchmarks"),
    ],
)
def test_a_change_of_all_comes_first(shared, text):
    assert headline(rows("same", "same"), shared).said.startswith(text)
