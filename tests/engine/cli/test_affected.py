"""`gnnbench affected` between a commit of a real repository and its working tree."""

import json
import os
import shlex

import pytest

from gnnbench.engine.drive.affected import AffectedResult
from gnnbench.engine.drive.result import Side
from gnnbench.engine.ground.settings import Rule, Settings
from gnnbench.engine.judge.comparison import Agreement, Work, not_compared
from gnnbench.engine.judge.memory import MemoryChange
from gnnbench.engine.judge.verdict import Thresholds
from gnnbench.engine.judge.visit import Inspections
from gnnbench.engine.measure.fingerprint.difference import Difference
from gnnbench.engine.show import affected as report
from gnnbench.engine.show.console import Terminal
from tests.engine.process.answers import answering, done
from tests.engine.process.variants.repositories import commit_all, git, without_settings
from tests.engine.process.workers import write
from tests.runs import gnnbench

SUITE = """
import pytest
import thing

@pytest.mark.parametrize("name", ["first", "second", "untouched"])
def test_thing(benchmark, name):
    benchmark(getattr(thing, name), 1)
"""
THING = """
def helper(x):
    return x

def first(x):
    return helper(x)

def second(x):
    return helper(x) + 1

def untouched(x):
    return x
"""
RARE = """
rows = []

def rebuild():
    for _ in range(10):
        pass

def first(x):
    rows.append(x)
    if len(rows) % 64 == 0:
        rebuild()
    return x
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    without_settings(monkeypatch)
    write(tmp_path, SUITE)
    (tmp_path / "thing.py").write_text(THING)
    commit_all(tmp_path, "first")
    return tmp_path


def affected(folder, *words, base="git:main", head="."):
    variables = {"GNNBENCH_CACHE": f"{folder}-cache", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return gnnbench("affected", base, head, *words, "--", "test_suite.py", cwd=folder, **variables)


def test_commits_of_another_repository_are_compared(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("a library")
    (other / "src").mkdir()
    for content in (THING, THING.replace("return x\n", "return x * 1\n", 1)):
        (other / "src" / "thing.py").write_text(content)
        commit_all(other, "content")
    sides = {
        side: shlex.join([f"git:{os.path.relpath(other, folder)}@{ref}"])
        for side, ref in (("base", "HEAD~1"), ("head", "HEAD"))
    }
    result = affected(folder, "--json", "affected.json", **sides)
    assert result.returncode == 0, result.stderr
    saved = json.loads((folder / "affected.json").read_text())
    changed = {name: one["work"]["changed"]["functions"] for name, one in saved["benchmarks"].items()}
    assert changed == {
        "test_suite.py::test_thing[first]": ["thing:helper"],
        "test_suite.py::test_thing[second]": ["thing:helper"],
        "test_suite.py::test_thing[untouched]": [],
    }
    assert [saved[side]["checkouts"] for side in sides] == [
        {os.path.relpath(other, folder): git(other, "rev-parse", ref)} for ref in ("HEAD~1", "HEAD")
    ]
    assert saved["base"]["commits"] == saved["head"]["commits"] == [git(folder, "rev-parse", "HEAD")]
    assert len(git(other, "worktree", "list").splitlines()) == 1


@pytest.mark.parametrize(
    ("new", "code", "line"),
    [
        ("return x + 1\n", 1, "2 benchmarks failed: test_suite.py::test_thing[first]"),
        ("return x * 1\n", 0, "2 of 3 benchmarks run changed code"),
    ],
    ids=["another output", "the same output"],
)
def test_as_a_required_check_it_fails_for_what_needs_no_clock(folder, new, code, line):
    (folder / "thing.py").write_text(THING.replace("return x\n", new, 1))
    result = affected(folder, "--fail")
    assert result.returncode == code, result.stderr
    assert line in result.stdout


@pytest.mark.parametrize("rules", [(), (Rule(1, "*", more_memory=0.5),)], ids=["no limit", "within a limit"])
def test_more_memory_fails_unless_the_settings_allow_it(rules):
    name = "a.py::test_it"
    memory = MemoryChange("more memory", 2**30, 2**30 + 2**28)
    sides = Side("git:base"), Side("git:head")
    found = AffectedResult(*sides, {name: Inspections(memory=memory)}, 1.0)
    assert found.worse(Thresholds(0.03, rules=Settings(rules=rules))) == [name] * (not rules)
    assert "in the base (1.25x): test_it" in str(report.document(found))


GONE, NEW = ("m:old", *(f"m:part_{number}" for number in range(20))), ("m:new",)


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (Work(no_fingerprint="it is pedantic"), "not compared: it is pedantic"),
        (Work(Difference(), cost=1 / 12), "same code, but a call costs 12.0x less: time it"),
        (
            Work(Difference((*GONE, *NEW, "m:f"), base_only=GONE, head_only=NEW)),
            "f, new (run only by head), ",
        ),
    ],
)
def test_what_differs_besides_code_and_where_the_sides_part_are_shown(work, said):
    found = AffectedResult(None, None, {"test_a.py::test_it": Inspections(work)}, 1.0)
    printed = " ".join(Terminal(None).write(report.document(found)).split())
    assert said in printed
    assert ("(run only by base) and 20 more" in printed) == ("f, new" in said)


def test_outputs_and_memory_have_columns_and_of_many_notes_the_first_is_printed():
    work, nothing = Work(Difference(("a:first",))), not_compared("it returns nothing")
    rows = {f"test_a.py::test_{number}": Inspections(work, results=nothing) for number in range(5)}
    rows["test_a.py::test_it"] = Inspections(
        work, memory=MemoryChange("more memory", 2**20, 2**21), results=Agreement("differ", "a sign")
    )
    found = AffectedResult(None, None, dict(reversed(rows.items())), 1.0)
    everything, short = (Terminal(None).write(report.document(found, verbose=one)) for one in (True, False))
    assert "test_it first +1.0 MiB differ" in " ".join(short.split())
    assert short.endswith("\na different output: a sign: test_it; 2 more notes: -v prints them\n")
    assert "outputs not compared: it returns nothing: 5 benchmarks" in everything


def test_what_costs_something_else_is_never_known_from_files(folder):
    """What runs in each 64th call counts for what is known from files, too."""
    (folder / "thing.py").write_text(f"{THING}\n{RARE}")
    commit_all(folder, "a rare rebuild")
    assert "0 of 3 benchmarks run changed code" in affected(folder).stdout
    (folder / "thing.py").write_text(f"{THING}\n{RARE.replace('range(10)', 'range(10_000)')}")
    for _ in range(2):
        found = " ".join(affected(folder).stdout.split())
        assert "1 of 3 benchmarks runs changed code, 2 run the same code" in found
        assert "test_thing[first] same code, but a call costs" in found


def test_where_every_benchmark_is_skipped_a_line_says_why(in_process, tmp_path, monkeypatch):
    (tmp_path / "test_a.py").touch()
    skipped = {"run": done("no GPU", skipped=True)}
    answering(monkeypatch, tmp_path, ["test_a.py::test_a"], base=skipped, head=skipped)
    found = in_process("affected", ".", ".", "--", "test_a.py")
    assert found.returncode == 3
    assert found.stdout.splitlines()[-2:] == [
        "1 benchmark skipped on both sides (no GPU)",
        "no benchmark was inspected",
    ]


def test_what_is_known_from_files_starts_no_process(folder):
    first, again = affected(folder), affected(folder)
    known = "of 3 benchmarks were compared by the file hashes that an earlier run saved"
    assert known not in first.stdout
    assert f"3 {known}" in again.stdout
    (folder / "thing.py").write_text(THING.replace("+ 1", "+ 20"))
    found = affected(folder)
    assert f"2 {known}" in found.stdout
    assert "1 of 3 benchmarks runs changed code, 2 run the same code" in " ".join(found.stdout.split())
