import tomllib
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from gnnbench.cli.common import exit_code
from gnnbench.compare.comparison import Compared, Comparison
from gnnbench.compare.ignored import ignored
from gnnbench.compare.memory import MemoryChange
from gnnbench.compare.verdict import SAME_CODE, Judgement
from gnnbench.settings import Settings, parse

SLOWER = Judgement("slower", "it is", 1.3, 1.2, 1.4, 1.25, 1.35, 0.08)
UNDECIDED = Judgement("undecided", "1 pair, a verdict needs 4", 1.1)
INCOMPARABLE = Judgement("incomparable", "not in the baseline")
SAME = Judgement("same", "the interval lies within 3%", 1.0, 0.98, 1.02, 0.99, 1.01, 0.02)
FASTER = Judgement("faster", "it is", 0.7, 0.6, 0.8, 0.65, 0.75, 0.08)
RULES = """
[[rules]]
benchmarks = "*old*"
ignore = "known since May"
[[rules]]
benchmarks = "*tuned*"
ignore = "waits for the new driver"
until = 2027-01-31
"""


def settings(today="2026-11-24"):
    found = parse(Path("gnnbench.toml"), tomllib.loads(RULES))
    return Settings(found.file, found.defaults, found.rules, date.fromisoformat(today))


def compared(*judgements, name="test_a.py::test_tuned[{}]"):
    rows = [Compared(name.format(number), one, 1e-3) for number, one in enumerate(judgements)]
    return Comparison(rows, None)


@pytest.mark.parametrize("before", [SLOWER, UNDECIDED, INCOMPARABLE])
def test_what_would_fail_is_ignored_and_says_by_which_rule_and_what_it_would_be(before):
    (row,) = ignored(compared(before), settings()).rows
    found = row.judgement
    assert found.verdict == "ignored"
    assert found.reason == (
        "waits for the new driver (rule 2 of gnnbench.toml); without the rule: "
        f"{before.verdict}, {before.reason}"
    )
    assert (found.ratio, found.low, found.judged) == (before.ratio, before.low, before.judged)


@pytest.mark.parametrize("before", [SAME, FASTER, SAME_CODE])
def test_what_never_fails_keeps_its_verdict(before):
    assert ignored(compared(before), settings()) == compared(before)


def test_benchmarks_without_a_rule_and_those_of_expired_rules_keep_theirs():
    other = compared(SLOWER, name="test_a.py::test_other")
    assert ignored(other, settings()) == other
    assert ignored(compared(SLOWER), settings("2027-02-01")) == compared(SLOWER)
    assert ignored(compared(SLOWER), settings("2027-01-31")) != compared(SLOWER)


@pytest.mark.parametrize(
    ("judgements", "others", "strict", "code"),
    [
        ([SLOWER, UNDECIDED, INCOMPARABLE], [SAME], True, 0),
        ([INCOMPARABLE], [], True, 0),
        ([SLOWER], [INCOMPARABLE], False, 3),
        ([SLOWER], [UNDECIDED, SAME], True, 3),
        ([INCOMPARABLE], [SLOWER], False, 1),
    ],
)
def test_the_exit_code_is_that_of_the_other_benchmarks(judgements, others, strict, code):
    rows = [*compared(*judgements).rows, *compared(*others, name="test_a.py::test_other[{}]").rows]
    assert exit_code(ignored(Comparison(rows, None), settings()), strict=strict) == code


def test_more_memory_of_an_ignored_benchmark_does_not_fail():
    more, less = MemoryChange("more memory", 2**20, 2**21), MemoryChange("less memory", 2**21, 2**20)
    rows = [replace(row, memory=memory) for row in compared(SAME).rows for memory in (more, less)]
    found = Comparison(rows, None)
    assert exit_code(found, strict=True) == 1
    assert exit_code(ignored(found, settings()), strict=True) == 0
    first, second = (row.memory for row in ignored(found, settings()).rows)
    assert first == replace(more, excused="waits for the new driver (rule 2 of gnnbench.toml)")
    assert second == less
    assert exit_code(ignored(found, settings("2027-02-01")), strict=True) == 1
