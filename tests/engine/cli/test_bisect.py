"""`gnnbench bisect` on real repositories, whose commits have known times on the simulated clock."""

import json
import shlex

import pytest

from gnnbench.engine.drive.bisect import bisection
from gnnbench.engine.drive.bisect.history import History
from gnnbench.engine.ground.errors import UsageError
from tests.engine.drive.bisect.histories import ALONE, content, create, hash_of
from tests.engine.drive.bisect.results import commits, result
from tests.engine.process.variants.repositories import commit_all, git
from tests.engine.process.workers import write
from tests.runs import gnnbench

LINE = commits(1)


def bisect(folder, *words, good="git:good", bad="git:main", **variables):
    rest = () if "--" in words else ("--", "test_suite.py")
    settings = {**ALONE, "GNNBENCH_CACHE": str(folder / ".cache"), **variables}
    return gnnbench("bisect", good, bad, "--json", "b.json", *words, *rest, cwd=folder, **settings)


@pytest.fixture
def history(tmp_path, monkeypatch):
    return lambda commits: create(tmp_path, commits, monkeypatch)


def between(folder, good="git:good", bad="git:main"):
    commits = History.between(good, bad, folder)
    return commits, [one.cause.title for one in commits.candidates[1:]]


@pytest.mark.parametrize(
    ("verdicts", "unfinished", "code", "said"),
    [
        (("same", "slower"), None, 1, "1 slower, 1 same; 1 candidate, 4 pairs of processes; 60.0 s"),
        (("faster", "undecided"), None, 0, "1 faster, 1 undecided; "),
        (("same",), None, 0, "GOOD and BAD do not differ: 1 same; "),
        (("accepted", "same"), None, 0, "1 accepted, 1 same; "),
        (("same", "undecided"), None, 3, "undecided: 1 same, 1 undecided; "),
        (("incomparable",), None, 3, "GOOD and BAD do not differ: 1 incomparable; "),
        ((), None, 3, "no benchmark was compared; 1 candidate, "),
        (("slower",), "interrupted", 130, "interrupted; repeat the command to continue"),
        (("slower",), "no time is left", 1, "no time is left; repeat the command to continue"),
    ],
)
def test_how_the_ends_differ_is_said(in_process, tmp_path, monkeypatch, verdicts, unfinished, code, said):
    found = result(LINE, *verdicts, unfinished=unfinished)
    given = []
    monkeypatch.setattr(bisection, "run", lambda *words, **_options: given.append(words[2]) or found)
    (tmp_path / "test_suite.py").touch()
    words = ("--total-budget", "30", "--effect", "5%", "--dependencies", "--", "test_suite.py")
    printed = in_process("bisect", "git:good", "git:main", *words)
    assert given[0].total_seconds == 30.0
    assert given[0].options == ("--effect", "5%", "--dependencies"), "a command that compares again has them"
    assert printed.returncode == code
    assert [line for line in printed.stdout.splitlines() if line.startswith(said)]


def test_ends_in_the_wrong_order_or_on_two_branches_are_a_line(history):
    folder = history([content(number) for number in range(3)])
    git(folder, "checkout", "-q", "-b", "release", "good")
    (folder / "thing.py").write_text(content(20, 0.7))
    git(folder, "commit", "-qam", "change 20")
    good = git(folder, "rev-parse", "good")
    for ends, text in (
        (("git:main", "git:good"), "git:main is not in the history of git:good: swap them"),
        (("git:release", "git:main"), f"the history of git:main: give their last common commit {good}"),
    ):
        with pytest.raises(UsageError, match=text):
            between(folder, *ends)
    (folder / ".git/shallow").write_text(hash_of(folder, 2))
    with pytest.raises(UsageError, match="git:good is not in the history of git:main: run git fetch --unsh"):
        between(folder)


def test_of_a_merge_the_first_parent_that_has_good_is_followed(history):
    folder = history([content(0)])
    git(folder, "checkout", "-q", "-b", "side")
    for number in (1, 2):
        (folder / "thing.py").write_text(content(number))
        git(folder, "commit", "-qam", f"change {number}")
    git(folder, "checkout", "-q", "main")
    (folder / "other.py").touch()
    commit_all(folder, "other")
    git(folder, "merge", "-q", "--no-ff", "-m", "change 3", "side")
    assert between(folder)[1] == ["other", "change 3"]
    merge = hash_of(folder, 3)
    assert between(folder, bad=f"git:{merge}^2")[1] == ["change 1", "change 2"]
    assert between(folder, f"git:{merge}^2~1")[1] == ["change 2", "change 3"], "`other` lacks change 1"


def test_commits_of_another_repository(history, tmp_path_factory, monkeypatch):
    folder = history([content(0)])
    other = tmp_path_factory.mktemp("a library")
    create(other, [content(number) for number in range(4)], monkeypatch)
    ends = [f"'git:{other}@{ref}' env:A=1" for ref in ("good", "main")]
    commits, titles = between(folder, *ends)
    assert titles == ["change 1", "change 2", "change 3"]
    assert shlex.split(commits.candidates[1].variant) == [f"git:{other}@{hash_of(other, 1)}", "env:A=1"]


RESULTS = """
import kernels

def test_sum(benchmark):
    benchmark(kernels.total, [0.5, 0.25])

def test_other(benchmark):
    benchmark(kernels.other, [0.5, 0.25])
"""


def test_the_commits_that_changed_results_are_found_without_timing(tmp_path):
    totals = ["sum(x)", "sum(sorted(x))", "broken(", "sum(x) + 1", "sum(x) + 2", "2 + sum(x)"]
    write(tmp_path, RESULTS)
    for number, total in enumerate(totals):
        other = "max(x)" if number < 5 else "min(x)"
        text = f"# {number}\ndef total(x):\n    return {total}\ndef other(x):\n    return {other}\n"
        (tmp_path / "kernels.py").write_text(text)
        commit_all(tmp_path, f"change {number}")
        if not number:
            git(tmp_path, "tag", "good")
    found = bisect(tmp_path, "--outputs", GNNBENCH_FAKE_CLOCK=None)
    assert found.returncode == 1, found.stderr
    whole = json.loads((tmp_path / "b.json").read_text())
    changes = [(one["causes"], list(one["benchmarks"])) for one in whole["changes"]]
    assert {tuple(cause["title"] for cause in causes): names for causes, names in changes} == {
        ("change 2", "change 3"): ["test_suite.py::test_sum"],
        ("change 4",): ["test_suite.py::test_sum"],
        ("change 5",): ["test_suite.py::test_other"],
    }
    assert "test_suite.py::test_sum: output is 1.75 instead of 0.75" in found.stdout
    assert "3 different outputs in 2 benchmarks; " in found.stdout
    (tmp_path / "baselines").mkdir()
    entry = '[[accepted]]\nreason = "why"\nbenchmark = "test_suite.py::test_other"\nresult = true\n'
    (tmp_path / "baselines/accepted.toml").write_text(entry)
    same = bisect(tmp_path, "--outputs", good="git:main~1", GNNBENCH_FAKE_CLOCK=None)
    assert same.returncode == 0, same.stdout
    assert "test_suite.py::test_other: accepted: why" in same.stdout
