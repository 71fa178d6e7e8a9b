from dataclasses import replace

from gnnbench.engine.drive import result
from gnnbench.engine.drive.result import Side
from gnnbench.engine.ground import codec
from gnnbench.engine.judge.comparison import Comparison
from gnnbench.engine.judge.control import Control
from gnnbench.engine.judge.verdict import Judgement
from tests.engine.cli import saved
from tests.run_files import refusal, save, suite


def of_ab(**changes):
    """Return a result with a slower benchmark and one that is new."""
    benchmarks = {"test_a.py::a": saved.SLOWER, "test_a.py::b": Judgement("incomparable", "new")}
    head = Side("env:NAME=1", dirty=True, variables={"NAME": "1"})
    return replace(saved.result(benchmarks=benchmarks, base="0123456789abcdef"), head=head, **changes)


def test_a_result_of_ab_is_read_as_it_was_shown_with_how_busy_the_machine_was(tmp_path):
    written = of_ab(contention_share=0.4, control=Control(9, 1.0, 0.99, 1.01))
    (path,) = save(tmp_path, codec.encode(written))
    found = result.read(path)
    assert found == replace(written, path=path)
    assert (found.base.title, found.head.title) == ("git:main (01234567)", "env:NAME=1")
    assert found.contention_share == 0.4
    power = "smallest detectable slowdown: 4.0% (MDE, power 90%)"
    assert found.all_notes() == (f"{power}; control, base against base: 1.00x (0.99-1.01)",)
    undecided = replace(written.rows[0], judgement=replace(saved.SLOWER, verdict="undecided"))
    note, _ = replace(written, comparison=Comparison([undecided])).all_notes()
    assert "other programs used 40% of its CPU time" in note


def test_commits_of_other_repositories_are_named():
    base = Side("git:main", ("0123456789",), checkouts={"../lib": "89abcdef01", "~/pyg": "fedcba9876"})
    assert base.title == "git:main (01234567, ../lib 89abcdef, ~/pyg fedcba98)"
    assert replace(base, commits=(), dirty=True).title == "git:main (../lib 89abcdef, ~/pyg fedcba98)"


def test_what_is_no_result_is_refused_in_one_line(tmp_path):
    assert "cannot be read" in refusal(result.read, tmp_path / "nothing.json")
    whole = codec.encode(of_ab())
    row, *_ = whole["comparison"]["rows"]
    wrong = {"rows": [{**row, "judgement": {**row["judgement"], "verdict": "<script>"}}]}
    levels = whole["thresholds"]
    for content, text in (
        (suite(1), "it is a run file"),
        ({}, "not a result of gnnbench ab or compare"),
        ({**whole, "version": 9}, "format version 9, but this gnnbench reads version 1"),
        ({**whole, "thresholds": {**levels, "effect": "3\n%"}}, "damaged at $.thresholds.effect"),
        ({**whole, "thresholds": {**levels, "own_level": 10**400}}, "damaged at $.thresholds.own_level"),
        ({**whole, "base": 1}, "damaged at $.base: expected `object`, got `int`"),
        ({**whole, "comparison": wrong}, "damaged at $.comparison.rows[0].judgement.verdict: "),
    ):
        assert text in refusal(result.read, *save(tmp_path, content))
