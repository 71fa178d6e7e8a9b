from dataclasses import replace

import numpy as np
import pytest

from gnnbench.compare.memory import MemoryChange
from gnnbench.compare.trend.steps import MemoryStep
from gnnbench.report import trend
from gnnbench.report.console import terminal
from tests.compare.trend.judged import history, judged, result, step


def shown(*of, width=80, encoding="utf-8", colour=False):
    return terminal(trend.document(result(*of), encoding), width, colour=colour)


@pytest.fixture
def several():
    of = history()
    return [
        judged(of, [step(10, 1.2), step(20, 0.8)], name="test_a.py::test_b[x-1]"),
        judged(of, [step(30, 1.06, around=5)], name="test_a.py::test_c" + "[long]" * 12),
        judged(of, (), [step(8, 1.01)], name="test_a.py::test_small"),
        judged(of, name="test_a.py::test_quiet"),
    ]


def test_it_fits_80_columns_the_newest_steps_first(several):
    out = shown(*several)
    assert max(map(len, out.splitlines())) <= 80
    assert out.index("slower 1.06x") < out.index("faster 0.80x")
    assert "run 21 (20-22)" in out
    assert "0000012..0000015" in out
    assert "1 earlier change" in out
    assert "1.05-1.07" in out
    assert "1.00 to 1.06 ms" in out
    assert "without a change: 2 of 4 benchmarks, 1 of them with a change smaller than 3.0%" in out
    assert "40 runs from 2026-01-01 to 2026-02-09, ordered by the runs' dates" in out
    assert "test_small" not in out
    assert "▁" in out
    assert "\x1b" not in out


def test_environments_are_apart_and_have_notes():
    of = history(superseded=3, contended=4, older=5)
    there = history(name="there_2", commits=False)
    machine = [judged(of, [step(20, 0.5)], name=f"a::b{number}") for number in range(6)]
    out = shown(*machine, judged(there, [step(12)]))
    assert "run 21, 0000014: 6 of 6 benchmarks changed together, probably the machine" in out
    assert out.count("1.00 ms to 500 µs") == 6
    assert out.index("here_1") < out.index("there_2")
    assert "as code, graph or method of measurement differ: 3" in out
    assert "other programs used too much CPU time: 4" in out
    assert "old runs excluded: 5" in out
    assert "2026-01-11+..2026-01-14" in out, "days of runs without commits"
    assert max(map(len, out.splitlines())) <= 80


def test_the_headline_says_first_what_changed(several):
    assert trend.headline(result(*several)) == (
        f"2 of 4 benchmarks changed: test_c{'[long]' * 12} slower 1.06x, test_b[x-1] faster 0.80x; "
        "1 is slower now"
    )
    of = history()
    better = [judged(of, [step(10, 0.9)], name="a::b"), judged(of, [step(12, 0.8)], name="a::c")]
    quiet = judged(of, name="a::quiet")
    assert trend.headline(result(*better, quiet)) == (
        "2 of 3 benchmarks changed: c faster 0.80x, b faster 0.90x; none is slower now"
    )
    worse = [judged(of, [step(5, 1.2)], name="a::d"), judged(of, [step(4, 1.3)], name="a::e")]
    assert trend.headline(result(*better, *worse)) == (
        "4 of 4 benchmarks changed: d slower 1.20x, e slower 1.30x and 2 more; 2 are slower now"
    )
    assert trend.headline(result(quiet, judged(of, name="a::other"))) == "None of 2 benchmarks changed"


def test_a_commit_is_short_and_says_that_files_differed():
    of = history()
    assert [trend.commit(run) for run in of.runs[2:4]] == ["0000002", "0000003+"]
    assert trend.commit(history(1, commits=False).runs[0]) == "2026-01-01"
    assert [*trend.commits(of, 18, 21)] == ["0000012", "0000015"]
    same = replace(of, runs=tuple(replace(run, commit="5603223" + "0" * 33, dirty=False) for run in of.runs))
    assert [*trend.commits(same, 18, 21)] == ["5603223"]


def test_more_memory_is_said():
    of = history()
    more, less = (MemoryChange(verdict, 2**20, 3 * 2**20) for verdict in ("more memory", "less memory"))
    found = [
        judged(of, name="a", runs=range(9), memory=[MemoryStep(1, 2, more)]),
        judged(of, name="b", memory=[MemoryStep(1, 2, less)]),
    ]
    out = shown(*found)
    assert "run 3, 0000001..0000002: more memory: a 1.0 MiB to 3.0 MiB\n" in out
    assert "run 3, 0000001..0000002: less memory: b 1.0 MiB to 3.0 MiB\n" in out
    assert trend.headline(result(found[1])) == "The one benchmark did not change"
    last = judged(of, name="c", memory=[MemoryStep(1, 2, more)])
    assert trend.headline(result(last)) == "The one benchmark did not change; 1 needs more memory now"


def test_heights_follow_the_values():
    for heights in (trend.BLOCKS, trend.ASCII):
        assert trend.sparkline(np.arange(8.0), 9, 0.1, heights) == heights
        assert trend.sparkline(np.arange(8.0)[::-1], 8, 0.1, heights) == heights[::-1]
    values = np.concatenate([np.zeros(500), np.ones(500)])
    values[3] = 50  # one odd run of a hundred
    assert trend.sparkline(values, 10, 0.1, trend.BLOCKS) == "▁" * 5 + "█" * 5
    flat = trend.sparkline(np.array([1.0, 1.001, 0.999, 1.0]), 4, 0.1, trend.BLOCKS)
    assert set(flat) <= set("▄▅"), "what hardly varies looks flat"


def test_a_pipe_has_whole_names_ascii_where_need_be_and_colours_where_they_are_shown(several):
    assert f"test_c{'[long]' * 12} " in shown(*several, width=None)
    for encoding in ("ascii", "cp1252"):
        assert "#" in shown(*several, encoding=encoding)
    assert "\x1b[31mslower" in shown(*several, colour=True)
