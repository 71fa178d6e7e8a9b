from dataclasses import replace

from gnnbench.engine.judge.comparison import Agreement, Compared, Comparison, PairCounts
from gnnbench.engine.judge.memory import MemoryChange
from gnnbench.engine.judge.schedule import Decision
from gnnbench.engine.judge.verdict import Judgement
from gnnbench.engine.show.charts import PAGE, svg
from gnnbench.engine.show.console import Terminal
from gnnbench.engine.show.lines import Note
from gnnbench.engine.show.pictures import chart_of_ratios
from gnnbench.engine.show.verdicts import columns_named, document, figures
from gnnbench.engine.show.wording import change, sentence
from gnnbench.suite.spec import Spec

SLOWER = Judgement(
    "slower",
    "it is",
    ratio=1.314,
    low=1.2,
    high=1.42,
    own_low=1.25,
    own_high=1.38,
    minimum_detectable_effect=0.08,
    shrunk=True,
    base_processes=5,
    head_processes=4,
)
MISSING = Judgement("incomparable", "new: not in the baseline", head_processes=1)
SPEC = Spec("add_remaining_self_loops", "forward_backward", "sparse", "float32", "int64", "cora", 256, "cpu")


def row(judgement, name="test_a.py::b", **changes):
    return Compared(name, judgement, 1.31e-3, **changes)


OURS = f"benchmarks/test_self_loops.py::test_self_loops[{SPEC.id}]"


def shown(*rows, width=80):
    return Terminal(width).write(document(Comparison(list(rows))))


def notes(*rows):
    return [block.text for block in document(Comparison(list(rows))) if isinstance(block, Note)]


def test_our_own_fit_80_columns_with_a_saved_spec_or_without():
    wide = replace(SLOWER, verdict="undecided", low=0.5, high=1e9, minimum_detectable_effect=1e6)
    missing = row(MISSING, "test_a.py::c", labels=replace(SPEC, dataset="pubmed").labels)
    text = shown(row(wide, OURS), missing, row(SLOWER))
    assert max(map(len, text.splitlines())) <= 80
    headings = [line for line in text.splitlines() if "hidden 256" in line or line == "test_a.py::"]
    assert headings == [  # what fails comes first
        "test_a.py::",
        "cora · hidden 256 · float32 · int64 · cpu",
        "pubmed · hidden 256 · float32 · int64 · cpu",
    ]
    assert "\nb " in text
    assert "2 benchmarks with few processes: their variance" in text
    assert "add_remaining_self_ f+b sparse 1.31 ms 1.31x 0.50-over 100 undecided" in " ".join(text.split())
    assert "new: not in the baseline: add_remaining_self_loops f+b sparse pubmed" in " ".join(text.split())


def test_a_bound_and_a_decided_ratio_never_read_as_1_and_only_undecided_ones_say_what_they_see():
    slight = replace(SLOWER, ratio=1.0031, low=1.0004, high=1.006, own_low=1.001, own_high=1.005)
    lines = shown(row(slight), row(replace(SLOWER, verdict="same"), "test_a.py::c")).splitlines()
    assert lines[2].split() == ["benchmark", "time", "ratio", "interval", "verdict"]
    assert lines[3].split() == ["b", "1.31", "ms", "1.003x", "1.0004-1.01", "slower"]
    assert "1.003x the baseline's time (1.0004-1.006)" in sentence(row(slight))
    text = shown(row(SLOWER), row(replace(SLOWER, verdict="undecided"), "test_a.py::c"))
    assert text.count("8.0%") == 1
    assert " undecided 8.0%\n" in text


def test_a_sentence_says_what_and_why():
    assert sentence(row(SLOWER, notes=("counters: +1 aten::sort",))) == (
        "slower: 1.314x the baseline's time (1.200-1.420), 1.31 ms now, 997 µs in the baseline; it is; "
        "processes: 5 in the baseline, 4 now; counters: +1 aten::sort"
    )
    assert "minimum detectable effect: 8.0%" in sentence(row(replace(SLOWER, verdict="undecided")))


def test_why_there_was_too_little_to_judge_by_stands_below_and_of_an_interval_it_does_not():
    few = Judgement("undecided", "2 pairs, a verdict needs 4", ratio=1.1)
    wide = replace(SLOWER, verdict="undecided", reason="the interval is too wide", low=0.9, shrunk=False)
    assert notes(row(few), row(wide)) == ["2 pairs, a verdict needs 4: b"], "the table's heading has the file"
    for bounds in ({"low": 3.0, "high": 5.0}, {"low": 0.01, "high": 0.02}):
        far = replace(wide, reason="5 pairs, a ratio above 3x needs 6", **bounds)
        assert notes(row(far)) == ["5 pairs, a ratio above 3x needs 6: b"]


def test_a_ratio_without_an_interval_ends_in_a_question_mark_everywhere():
    few = row(Judgement("undecided", "1 pair, a verdict needs 4", ratio=1.22))
    assert " 1.22x? " in shown(few)
    (column,) = columns_named("ratio")
    assert column.shown(column.of(few)).text == "1.22x?"
    assert figures(Decision(few.judgement, PairCounts(1, 0, 1, 5, 0.5)))[0] == "1.220x?"
    chart = svg(chart_of_ratios([("b", few)], 0.03, PAGE))
    assert chart.count("1.22x? undecided") == chart.count("1.22x") > 0


def test_a_different_output_is_said_instead_of_incomparable_unless_it_is_accepted():
    why = Judgement("incomparable", "a different output: by 2", 10.7)
    other = row(why, results=Agreement("differ", "by 2"))
    assert "different output" in shown(other)
    memory = MemoryChange("more memory", 2**23, 2**24, "within the limit of 200%")
    assert notes(replace(other, memory=memory))[0].startswith("a different output: by 2")
    assert change(other) == "different output"
    assert sentence(other) == "a different output: by 2"
