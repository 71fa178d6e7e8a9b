from gnnbench.compare.ab.schedule import Decision
from gnnbench.compare.bisect.followed import Span
from gnnbench.compare.bisect.line import Candidate, Cause, Line
from gnnbench.compare.bisect.result import BisectResult
from gnnbench.compare.bisect.session import Bisected
from gnnbench.compare.verdict import Judgement, Thresholds
from gnnbench.report import bisect

COMMITS = [
    Cause("commit", f"{number:040x}"[::-1], f"change {number}", "2026-01-31") for number in range(1, 15)
]
LINE = Line(
    "commit",
    (
        Candidate("commit 0", "git:good"),
        *(Candidate(f"commit {one.name[:10]}", f"git:{one.name}", one) for one in COMMITS),
    ),
)


def found(*spans):
    judgement = Judgement("slower", "it is", 1.5, 1.4, 1.6)
    decisions = {"test_a.py::b": Decision(judgement, 4, 0, 9, 9, 1.0, decided=True)}
    stage = Bisected(LINE, decisions, {"test_a.py::b": spans}, {}, {}, 4, 60.0)
    return BisectResult("git:good", "git:main", (), Thresholds(0.03), {}, (stage,))


def test_a_range_names_its_first_ten_candidates_and_counts_the_others():
    large, small = Span(0, 12, 1.5, (1.4, 1.6)), Span(12, 14, 1.1, (1.05, 1.15))
    result = found(large, small)
    printed = []
    bisect.write(result, printed.append, None, colour=False)
    lines = "".join(printed).splitlines()
    c12 = COMMITS[11].short
    first = lines.index(f"one of 12 commits after commit 0, up to commit {c12}:")
    named = [f"  commit {one.short} (2026-01-31): {one.title}" for one in COMMITS]
    assert lines[first + 1 : first + 12] == [*named[:10], "  and 2 more"]
    second = lines.index(f"one of 2 commits after commit {c12}, up to commit {COMMITS[13].short}:")
    assert lines[second + 1 : second + 3] == named[12:]
    assert "more" not in lines[second + 3]
    text = bisect.markdown(result)
    assert f"#### one of 12 commits after commit 0, up to commit `{c12}`:\n- commit " in text
    assert text.count("- and 2 more\n") == 1


def test_without_a_decision_no_end_is_said_to_differ_or_not():
    stage = Bisected(LINE, {}, {}, {}, {}, 0, 0.0, "interrupted")
    result = BisectResult("git:good", "git:main", (), Thresholds(0.03), {}, (stage,))
    assert bisect.summary(result).startswith("no benchmark was compared; 14 candidates, ")


def test_one_candidate_is_the_cause():
    stage = found(Span(3, 4, 1.5, (1.4, 1.6))).stages[0]
    (finding,) = found(Span(3, 4, 1.5, (1.4, 1.6))).findings(stage)
    assert [*bisect.heading(stage, finding)] == [f"commit {COMMITS[3].short} (2026-01-31): change 4"]
