"""`gnnbench bisect` on real repositories, whose commits have known times on the simulated clock."""

import html
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gnnbench import schema, units
from tests.compare.bisect.histories import ALONE, NOISE, ONE, TWO, content, create, hash_of
from tests.suite import environment, gnnbench
from tests.variants.repositories import git


def bisect(folder, *words, good="git:good", bad="git:main", **variables):
    rest = () if "--" in words else ("--", "test_suite.py")
    settings = {**ALONE, "GNNBENCH_CACHE": str(folder / ".cache"), **variables}
    return gnnbench("bisect", good, bad, "--json", "b.json", *words, *rest, cwd=folder, **settings)


def saved(folder, stage=0):
    """Return a stage of the result, or all."""
    found = json.loads((folder / "b.json").read_text())
    assert schema.departure(found, "bisect") is None
    return found["stages"] if stage is None else found["stages"][stage]


def changes(folder):
    """Return the ratio of each change, by the numbers of the commits that may be its cause."""
    return {
        tuple(int(cause["title"].split()[1]) for cause in one["causes"]): {
            each["id"]: each["ratio"] for each in one["benchmarks"]
        }
        for one in saved(folder)["changes"]
    }


@pytest.fixture
def history(tmp_path, monkeypatch):
    return lambda commits: create(tmp_path, commits, monkeypatch)


def test_the_commit_is_named_with_what_it_changed_and_how_to_repeat_it(history):
    folder = history([content(number, 1.1 if number >= 9 else 1.0) for number in range(13)])
    result = bisect(folder, "--markdown", "b.md", "-o", "b.html")
    assert result.returncode == 1, result.stderr
    (change,) = saved(folder)["changes"]
    (one,) = change["benchmarks"]
    assert change["exact"]
    assert [cause["name"] for cause in change["causes"]] == [hash_of(folder, 9)]
    assert one["id"] == ONE
    assert one["low"] < 1.1 < one["high"]
    assert one["changed"]["functions"] == ["thing:one"]
    command = f"gnnbench ab git:{hash_of(folder, 8)} git:{hash_of(folder, 9)} -- '{ONE}'"
    assert change["command"] == command
    lines = result.stdout.splitlines()
    assert re.fullmatch(rf"commit {hash_of(folder, 9)[:10]} \(\d{{4}}-\d\d-\d\d\): change 9", lines[1])
    assert "code: one" in lines
    assert f"repeat: {command}" in lines
    summary = next(
        number for number, line in enumerate(lines) if line.startswith("1 slower, 1 same; 12 cand")
    )
    written = [
        f"{file}: {units.size((folder / file).stat().st_size)}" for file in ("b.json", "b.md", "b.html")
    ]
    assert lines[summary + 1 :] == written
    assert command in (folder / "b.md").read_text()
    page = (folder / "b.html").read_text()
    assert html.escape(command) in page.replace("&#39;", "&#x27;")
    assert re.search(r"<h1>.*one.* became slower, 1.1\dx: commit \w+ \([-\d]+\): change 9</h1>", page)
    assert len(git(folder, "worktree", "list").splitlines()) == 1
    # Binary search by fingerprints: no candidate between the ends is timed.
    assert saved(folder)["pairs"] <= 6 + 4


def run_written_test(folder, number, file):
    """Run a written test where a commit is checked out."""
    git(folder, "checkout", "-q", hash_of(folder, number))
    command = [sys.executable, "-m", "pytest", file]
    variables = environment(**ALONE)
    result = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    git(folder, "checkout", "-q", "main")
    return result.returncode, result.stdout


@pytest.mark.parametrize(
    ("slow", "name"),
    [
        ("def helper(x):\n    return x\ndef one(x):\n    return helper(x)\n", "no_other_functions"),
        ("def one(x):\n    return x + 1 - 1\n", "the_same_functions"),
    ],
)
def test_a_written_test_fails_after_the_change_and_passes_before(history, slow, name):
    def at(number):
        text = content(number, 1.2 if number >= 3 else 1.0)
        return text + (slow if number >= 3 else "def one(x):\n    return x\n")

    folder = history([at(number) for number in range(5)])
    bisect(folder, "--test", "test_it.py")
    assert f"def test_{name}(" in (folder / "test_it.py").read_text()
    code, output = run_written_test(folder, 4, "test_it.py")
    assert code == 1, output
    assert run_written_test(folder, 3, "test_it.py")[0] == 1
    code, output = run_written_test(folder, 2, "test_it.py")
    assert code == 0, output


TENSORS = """
import pytest
import thing
import torch

def test_thing(benchmark):
    benchmark(thing.one, torch.ones(3))
"""


def test_a_written_test_of_counters(history):
    def at(number):
        call = "(x + 1).clone()" if number else "x + 1"
        return f"ONE = {1e-3 * (1 + 0.2 * number)}\ndef one(x):\n    return {call}\n"

    folder = history([at(0), at(1)])
    (folder / "test_suite.py").write_text(TENSORS)
    truths = {"benchmarks": {"test_thing": "thing:ONE"}, "noise": NOISE}
    (folder / "truths.json").write_text(json.dumps(truths))
    git(folder, "commit", "-qam", "a suite with tensors")
    bisect(folder, "--test", "test_it.py", bad="git:main~1")
    text = (folder / "test_it.py").read_text()
    assert "def test_no_more_work(" in text
    assert "found.counts.get('aten::clone', 0) <= 0" in text
    # The suite of the working tree, on the code of both commits.
    (folder / "thing.py").write_text(at(1))
    command = [sys.executable, "-m", "pytest", "test_it.py"]
    variables = environment(**ALONE)
    assert subprocess.run(command, cwd=folder, env=variables, check=False).returncode == 1
    (folder / "thing.py").write_text(at(0))
    assert subprocess.run(command, cwd=folder, env=variables, check=False).returncode == 0


def test_two_steps_and_benchmarks_that_the_same_commit_slowed(history):
    def at(number):
        one = 1.3 if number >= 8 else 1.15 if number >= 3 else 1.0
        return content(number, one, 1.2 if number >= 8 else 1.0, rewritten=True)

    folder = history([at(number) for number in range(11)])
    result = bisect(folder)
    assert result.returncode == 1, result.stderr
    found = changes(folder)
    assert found.keys() == {(3,), (8,)}
    assert found[8,].keys() == {ONE, TWO}
    assert found[3,] == {ONE: pytest.approx(1.15, abs=0.03)}
    assert found[8,][ONE] == pytest.approx(1.3 / 1.15, abs=0.03)


def test_a_step_back_is_found_as_such(history):
    def at(number):
        return content(number, 1.1 if number >= 7 else 1.3 if number >= 4 else 1.0, rewritten=True)

    folder = history([at(number) for number in range(11)])
    bisect(folder)
    found = {causes: ratios[ONE] for causes, ratios in changes(folder).items()}
    assert found == {(4,): pytest.approx(1.3, abs=0.03), (7,): pytest.approx(1.1 / 1.3, abs=0.03)}


def test_what_became_faster_is_reported_the_same_way(history):
    folder = history([content(number, 0.8 if number >= 2 else 1.0) for number in range(5)])
    result = bisect(folder)
    assert result.returncode == 0, result.stderr
    assert changes(folder) == {(2,): {ONE: pytest.approx(0.8, abs=0.03)}}


def test_where_the_ends_do_not_differ(history):
    folder = history([content(0), content(1), content(2)])
    result = bisect(folder)
    assert result.returncode == 0
    assert result.stdout.startswith("the ends do not differ: 2 same; 2 candidates, 1 pair of processes; ")
    assert saved(folder)["changes"] == []


def test_where_the_ends_are_undecided(history):
    folder = history([content(0, rewritten=True), content(1, 1.02, rewritten=True)])
    result = bisect(folder, "--budget", "2")
    assert result.returncode == 3, result.stdout
    assert result.stdout.startswith("undecided: 2 undecided; ")


def test_commits_that_are_broken_are_stepped_around_or_are_the_answer_s_range(history):
    def at(number):
        broken = "raise ImportError('not today')\n" if 5 <= number <= 7 else ""
        return broken + content(number, 1.2 if number >= 6 else 1.0, 1.2 if number >= 10 else 1.0)

    folder = history([at(number) for number in range(13)])
    result = bisect(folder)
    assert changes(folder).keys() == {(10,), (5, 6, 7, 8)}
    assert "not today" in saved(folder)["unmeasured"][0]["reason"]
    assert "one of 4 commits after " in result.stdout


def test_commits_to_skip(history):
    folder = history([content(number, 1.2 if number >= 4 else 1.0) for number in range(7)])
    first, last = hash_of(folder, 3), hash_of(folder, 4)
    bisect(folder, "--skip", f"{first}~1..{last}")
    assert changes(folder).keys() == {(3, 4, 5)}


def test_a_commit_that_hangs_is_given_up(history):
    def at(number):
        hangs = "import time\ntime.sleep(600)\n" if number == 2 else ""
        return hangs + content(number, 1.2 if number >= 3 else 1.0)

    folder = history([at(number) for number in range(5)])
    bisect(folder, "--timeout", "6")
    assert changes(folder).keys() == {(2, 3)}
    assert "did not answer for 6 s" in saved(folder)["unmeasured"][0]["reason"]


def test_the_ends_may_be_on_two_branches(history):
    folder = history([content(number, 1.0 if number < 2 else 1.2) for number in range(4)])
    git(folder, "checkout", "-q", "-b", "release", "good")
    (folder / "thing.py").write_text(content(20, 0.7))
    git(folder, "commit", "-qam", "change 20")
    git(folder, "checkout", "-q", "main")
    result = bisect(folder, good="git:release")
    (note,) = saved(folder)["notes"]
    assert note.startswith("the ends are on two branches: 1 of the 4 steps take back commits of the good end")
    assert changes(folder).keys() == {(20,), (2,)}
    assert [one["causes"][0]["undone"] for one in saved(folder)["changes"]] == [True, False]
    assert re.search(r"^without commit \w+ \([-\d]+\): change 20$", result.stdout, re.MULTILINE)


def test_ends_in_the_wrong_order_are_to_be_swapped(history):
    folder = history([content(number, 1.2 if number >= 2 else 1.0) for number in range(4)])
    result = bisect(folder, good="git:main", bad="git:good")
    assert result.returncode == 0
    assert changes(folder).keys() == {(2,)}
    note = (
        "git:main (GOOD) is newer than git:good (BAD): swap them to search for what came after the older one"
    )
    assert result.stderr.splitlines()[0] == f"gnnbench: {note}"
    assert saved(folder)["notes"] == [note]


def test_a_merge_is_named_with_the_command_that_looks_into_it(history):
    folder = history([content(0)])
    git(folder, "checkout", "-q", "-b", "side")
    for number in (1, 2):
        (folder / "thing.py").write_text(content(number, 1.0 + 0.1 * number))
        git(folder, "commit", "-qam", f"change {number}")
    git(folder, "checkout", "-q", "main")
    git(folder, "merge", "-q", "--no-ff", "-m", "change 3", "side")
    result = bisect(folder)
    assert changes(folder).keys() == {(3,)}
    merge = hash_of(folder, 3)
    ends = [f"git:{merge}^{parent}" for parent in (1, 2)]
    assert f"is a merge; to search its own commits: gnnbench bisect '{ends[0]}' '{ends[1]}'" in result.stdout
    bisect(folder, good=ends[0], bad=ends[1])
    assert changes(folder).keys() == {(1,), (2,)}


def test_commits_of_another_repository(history, tmp_path_factory, monkeypatch):
    folder = history([content(0)])
    other = tmp_path_factory.mktemp("a library")
    create(other, [content(number, 1.2 if number >= 2 else 1.0) for number in range(4)], monkeypatch)
    ends = [f"'git:{other}@{ref}' env:A=1" for ref in ("good", "main")]
    bisect(folder, good=ends[0], bad=ends[1])
    assert changes(folder).keys() == {(2,)}
    assert f"'git:{other}@{hash_of(other, 2)}" in saved(folder)["changes"][0]["command"].replace(
        "'\"'\"'", "'"
    )


def test_commits_are_built_once(history):
    """The package is what a command makes of its source."""

    def at(number):
        return content(number, 1.2 if number >= 3 else 1.0) + ("syntax error\n" if number == 2 else "")

    folder = history(["" for _ in range(1)])
    git(folder, "rm", "-q", "thing.py")
    for number in range(5):
        (folder / "thing.source").write_text(at(number))
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", f"built {number}")
    command = f"{sys.executable} -m py_compile thing.source && cp thing.source thing.py"
    result = bisect(folder, "--build", command, good="git:main~4", bad="git:main")
    assert result.returncode == 1, result.stderr
    (change,) = saved(folder)["changes"]
    assert [cause["title"] for cause in change["causes"]] == ["built 2", "built 3"]
    assert "cannot be built" in saved(folder)["unmeasured"][0]["reason"]
    assert len(list((folder / ".cache" / "builds").glob("*/tree/thing.py"))) == 4


def pairs_in(state):
    return json.loads(state.read_text().partition("\n")[2])["measured"]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_after_an_interruption_the_same_command_continues(history, end):
    folder = history([content(number, 1.1 if number >= 9 else 1.0, rewritten=True) for number in range(13)])
    command = [str(Path(sys.executable).with_name("gnnbench")), "bisect", "git:good", "git:main"]
    variables = environment(**ALONE, GNNBENCH_CACHE=str(folder / ".cache"))
    process = subprocess.Popen(
        [*command, "--", "test_suite.py"], cwd=folder, env=variables, stdout=subprocess.PIPE, text=True
    )
    states = folder / ".cache" / "bisect"
    until = time.monotonic() + 60
    while not any(len(pairs_in(file)) > 2 for file in states.glob("*.json")):
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(end)
    output, _ = process.communicate(timeout=60)
    if end == signal.SIGINT:
        assert process.returncode == 130
        assert "interrupted; the same command continues" in output
    (state,) = states.glob("*.json")
    before = len(pairs_in(state))
    result = bisect(folder)
    assert f"continuing after {before} pairs of an earlier run" in result.stderr
    assert changes(folder).keys() == {(9,)}
    assert saved(folder)["pairs"] > before
    assert not state.exists()


def test_where_the_time_is_used_up_what_is_known_is_the_answer(history):
    folder = history([content(number, 1.1 if number >= 9 else 1.0, rewritten=True) for number in range(13)])
    result = bisect(folder, "--total-budget", "1")
    assert saved(folder)["unfinished"] == "the time is used up"
    assert "the same command with --total-budget 2 continues" in result.stdout
    assert result.returncode in (1, 3)


def test_a_cache_that_cannot_be_written_is_a_line(history):
    folder = history([content(0), content(1, 1.2)])
    (folder / ".cache").mkdir()
    (folder / ".cache" / "bisect").write_text("in the way")
    result = bisect(folder)
    assert result.returncode == 2
    assert "cannot be written" in result.stderr.splitlines()[-1]
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("good", "bad", "words", "text"),
    [
        ("git:nowhere", "git:main", (), "git:nowhere names no commit"),
        ("git:--upload-pack=x", "git:main", (), "looks like an option of git"),
        ("'git:$(touch x)'", "git:main", (), "names no commit"),
        ("git:good", "git:good", (), "both ends are"),
        ("git:good", "git:HEAD~1", (), "are the same commit"),
        ("git:good", "pip:thing==2", (), "are of two kinds"),
        ("git:good", ".", (), "'.' cannot be an end"),
        ("git:good", "hg:tip", (), "unknown part of a variant 'hg'"),
        ("git:good", "git:main env:A=1", (), "the ends must differ in one part"),
        ("git:good", "", (), "an end is empty"),
        ("git:good", "'git:", (), "is incomplete: no closing quotation"),
        ("git:good", "git:main", ("--skip", "nowhere"), "--skip nowhere names no commit"),
        ("git:good", "git:main", ("--skip", "main"), "--skip names an end"),
        ("git:good", "git:main", ("--json", "no/b.json"), "no/b.json cannot be written"),
        ("git:good", "git:main", ("--", "nowhere.py"), "gnnbench bisect GOOD BAD -- PATH"),
        ("git:good", "git:main", ("--", "test_suite.py", "-k", "no"), "pytest finds no benchmarks here"),
    ],
)
def test_wrong_usage_is_a_line(history, good, bad, words, text):
    folder = history([content(0), content(1)])
    result = bisect(folder, *words, good=good, bad=bad)
    assert result.returncode == 2
    last = result.stderr.splitlines()[-1]
    assert last.startswith("gnnbench: ")
    assert text in last
    assert not (folder / "x").exists()
