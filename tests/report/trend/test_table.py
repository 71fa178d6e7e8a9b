import pytest

from gnnbench.report.trend import table
from tests.compare.trend.judged import history, judged, result, step


def shown(*of, width=80, encoding="utf-8", colour=False):
    return table.text(result(*of), width, encoding, colour=colour)


@pytest.fixture
def several():
    of = history()
    return [
        judged(of, [step(10, 1.2), step(20, 0.8)], name="test_a.py::test_b[x-1]"),
        judged(of, [step(30, 1.06, kind="drift", around=5)], name="test_a.py::test_c" + "[long]" * 12),
        judged(of, [step(25, 3.0, kind="spread")], name="test_a.py::test_d"),
        judged(of, (), [step(8, 1.01)], name="test_a.py::test_small"),
        judged(of, name="test_a.py::test_quiet"),
    ]


def test_it_fits_80_columns_the_newest_changes_first(several):
    out = shown(*several)
    assert max(map(len, out.splitlines())) <= 80
    places = [out.index(words) for words in ("slower 1.06x", "noisier 3.00x", "faster 0.80x")]
    assert places == sorted(places)
    assert "run 21 (20-22)" in out
    assert "0000012..0000015" in out
    assert ", 1 before" in out
    assert "slowly, 1.05-1.07" in out
    assert "1.00 to 1.06 ms" in out
    assert "1.0% to 3.0%" in out
    assert "without a change: 2 of 5 benchmarks, 1 of them with a change smaller than 3.0%" in out
    assert "40 runs from 2026-01-01 to 2026-02-09, ordered by the runs' dates" in out
    assert "test_small" not in out


def test_blocks_where_the_output_has_them_and_ascii_elsewhere(several):
    assert "▁" in shown(*several)
    for encoding in ("ascii", "cp1252"):
        assert "#" in shown(*several, encoding=encoding)


def test_names_cannot_steer_the_terminal():
    of = history(name="\x1b[31mhere\x07")
    out = shown(judged(of, [step(10)], name="a::\x1b[2J[bold]\nb\udcff"))
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "[bold]" in "".join(out.split())


def test_names_are_short_where_that_is_clear():
    of = history()
    assert table.short_labels([judged(of, name="a.py::b"), judged(of, name="a.py::c")])["a.py::b"] == "b"
    both = [judged(of, name="a.py::b"), judged(of, name="c.py::b")]
    assert table.short_labels(both)["a.py::b"] == "a.py::b"


def test_environments_are_apart_and_what_is_left_out_is_said():
    of = history(superseded=3, contended=4, older=5)
    there = history(name="there_2", commits=False)
    out = shown(judged(of, [step(10)]), judged(there, [step(12)]))
    assert out.index("here_1") < out.index("there_2")
    assert "as code, graph or method of measurement differ: 3" in out
    assert "other programs used too much CPU time: 4" in out
    assert "old runs excluded: 5" in out
    assert "2026-01-11+..2026-01-14" in out
    assert max(map(len, out.splitlines())) <= 80


def test_many_changes_at_once_are_the_machine():
    of = history()
    out = shown(*(judged(of, [step(20)], name=f"a::b{number}") for number in range(6)))
    assert "run 22: 6 of 6 benchmarks changed together, probably the machine" in out


def test_colours_where_they_are_shown(several):
    assert "\x1b[31mslower" in shown(*several, colour=True)
    assert "\x1b" not in shown(*several)


def test_levels_say_their_unit_once():
    assert table.level(step(10, 1.5)) == "1.00 to 1.50 ms"
    assert table.level(step(10, 0.5)) == "1.00 ms to 500 µs"


def test_the_count_says_what_is_slower(several):
    assert table.count(result(*several)) == (
        "3 benchmarks changed, 1 of them slower since the last change; 2 without a change"
    )
