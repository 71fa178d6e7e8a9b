"""Real commands on a real repository: what is accepted, what that changes, and what is refused."""

import json
import re
import shutil
import tomllib

import pytest

from gnnbench.results.accepted import FILE
from gnnbench.schema import departure
from tests.run_files import content, entry
from tests.suite import gnnbench
from tests.variants import repositories

LIBRARY = """
VERSION = 1

def work(n=100):
    return VERSION, sum(range(n))
"""
SUITE = """
from library import work

def test_sum(benchmark):
    benchmark(work)

def test_more(benchmark):
    benchmark(work, 200)
"""
NOISE = {"sigma": 0.01, "spike_probability": 0, "drift": 0.02}
SUM, MORE = "test_suite.py::test_sum", "test_suite.py::test_more"
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
FACTORS = {"1": 1.0, "2": 1.2, "3": 1.5}


class Project:
    """A library with its suite; the commit of each version of the library is a tag."""

    def __init__(self, folder):
        self.folder = folder

    def git(self, *words):
        return repositories.git(self.folder, *words)

    def version(self, number):
        (self.folder / "library.py").write_text(LIBRARY.replace("= 1", f"= {number}"))
        self.git("commit", "-qam", f"version {number}")

    def ab(self, base, head, *words, slowed="test_more", factors=None):
        """Compare two commits, whose benchmark takes as long as their factors say."""
        sides = []
        for side, (ref, factor) in enumerate(zip((base, head), factors or (1.0, 1.2), strict=True)):
            times = {"test_sum": 1e-3, "test_more": 1e-3}
            name = f"times-{side}.json"
            text = json.dumps({"benchmarks": {**times, slowed: factor * 1e-3}, "noise": NOISE})
            (self.folder / name).write_text(text)
            sides.append(f"{ref} env:GNNBENCH_FAKE_CLOCK=5:{name}")
        options = ("--budget", "20", "--json", "ab.json", "--markdown", "ab.md", *words)
        result = gnnbench("ab", *sides, *options, "--", "test_suite.py", cwd=self.folder, **ALONE)
        found = json.loads((self.folder / "ab.json").read_text())
        assert not departure(found, "ab")
        return result, {one["id"]: one["verdict"] for one in found["benchmarks"]}

    def accept(self, *words, reason="more accurate"):
        return gnnbench("accept", *words, "--reason", reason, cwd=self.folder, **ALONE)

    def entries(self):
        file = self.folder / FILE
        return tomllib.loads(file.read_text())["accepted"] if file.exists() else []

    def edit(self, **changes):
        """Change the saved result."""
        file = self.folder / "ab.json"
        found = json.loads(file.read_text())
        for place, value in changes.items():
            side, _, field = place.partition("_")
            found[side][field] = value
        file.write_text(json.dumps(found))


def write(file, content):
    file.write_text(json.dumps(content))


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """A branch `feature` at version 2, which is slower than `main`, and the result that says so."""
    folder = tmp_path_factory.mktemp("compared") / "project"
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p pytest_benchmark.plugin\n")
    (folder / ".gitignore").write_text("__pycache__\n*.json\n*.md\n*.html\n")
    (folder / "test_suite.py").write_text(SUITE)
    (folder / "library.py").write_text(LIBRARY)
    project = Project(folder)
    project.git("init", "-q", "-b", "main")
    project.git("config", "user.name", "Ada")
    project.git("config", "user.email", "ada@example.org")
    project.git("add", "-A")
    project.git("commit", "-qm", "version 1")
    project.git("checkout", "-q", "-b", "feature")
    project.version(2)
    result, verdicts = project.ab("git:main", "git:feature")
    assert result.returncode == 1, result.stderr
    assert verdicts == {SUM: "same", MORE: "slower"}
    return folder


@pytest.fixture
def project(compared, tmp_path):
    shutil.copytree(compared, tmp_path / "project")
    return Project(tmp_path / "project")


def test_a_slowdown_that_is_accepted_fails_no_more_but_what_is_beyond_does(project):
    result = project.accept("ab.json", "--until", "2999-12-31")
    assert result.returncode == 0, result.stderr
    base, head = (project.git("rev-parse", one) for one in ("main", "feature"))
    assert f" from {base[:10]} to {head[:10]}: {MORE}\n" in result.stdout
    assert "1 entry written to " in result.stdout
    assert "; commit the file together with the change" in result.stdout
    (one,) = project.entries()
    assert (one["benchmark"], one["base"], one["head"]) == (MORE, base, head)
    assert one["low"] < one["ratio"] < one["high"]
    assert one["ratio"] == pytest.approx(1.2, rel=0.02)
    assert (one["author"], one["reason"]) == ("Ada <ada@example.org>", "more accurate")
    assert f"{one['until']}" == "2999-12-31"

    result, verdicts = project.ab("git:main", "git:feature")
    assert result.returncode == 0, result.stdout
    assert verdicts == {SUM: "same", MORE: "accepted"}
    assert "): more accurate: test_more\n" in result.stdout
    assert "0 slower, 1 accepted, 0 faster, 1 same, 0 undecided, 0 incomparable; " in result.stdout
    (saved,) = [
        one for one in json.loads((project.folder / "ab.json").read_text())["benchmarks"] if one["id"] == MORE
    ]
    assert saved["reason"] == "accepted: more accurate"
    assert saved["accepted"]["reasons"] == ["more accurate"]
    markdown = (project.folder / "ab.md").read_text()
    assert markdown.startswith("**No slowdown beyond what is accepted in 2 benchmarks**: 1 accepted, 1 same")
    assert "more accurate" in markdown
    page = gnnbench("report", "ab.json", cwd=project.folder)
    assert "No slowdown beyond what is accepted in 2 benchmarks: 1 accepted, 1 same" in page.stdout
    comment = gnnbench("comment", "ab.json", cwd=project.folder)
    assert "more accurate" in comment.stdout

    again = project.accept("ab.json")
    assert again.returncode == 2
    nothing = "ab.json: no benchmark is slower or needs more memory, so there is nothing to accept"
    assert nothing in again.stderr
    named = project.accept("ab.json", MORE)
    assert f"{MORE} is accepted, not slower (accepted: more accurate), and " in named.stderr


def test_a_slowdown_on_top_of_an_accepted_one_has_an_entry_of_its_own(project):
    assert project.accept("ab.json").returncode == 0
    project.version(3)
    result, verdicts = project.ab("git:main", "git:feature", factors=(1.0, 1.32))
    assert result.returncode == 1, result.stdout
    assert verdicts[MORE] == "slower"
    assert "beyond the accepted 1.20x: more accurate: test_more\n" in result.stdout
    page = gnnbench("report", "ab.json", cwd=project.folder)
    said = r"1 of 2 benchmarks is slower: test_more is 1\.\d\dx slower than accepted \(1\.3\dx in all\)\n"
    assert re.match(said, page.stdout)
    both = project.accept("ab.json", reason="and safer")
    assert both.returncode == 0, both.stderr
    assert "1 entry written to " in both.stdout
    first, second = project.entries()
    assert (first["reason"], second["reason"]) == ("more accurate", "and safer")
    assert first["ratio"] * second["ratio"] == pytest.approx(1.32, rel=0.02)
    # The file was judged before the second entry was written: the same head again replaces that entry.
    again = project.accept("ab.json", reason="and much safer")
    assert ", instead of 1 older one; " in again.stdout
    assert [one["reason"] for one in project.entries()] == ["more accurate", "and much safer"]
    # A base that has the first slowdown is allowed the second one only.
    result, verdicts = project.ab("git:feature~1", "git:feature", factors=(1.2, 1.32))
    assert (result.returncode, verdicts[MORE]) == (0, "accepted"), result.stdout
    assert "as slow as accepted" not in result.stdout
    result, verdicts = project.ab("git:feature~1", "git:feature", factors=(1.0, 1.32))
    assert (result.returncode, verdicts[MORE]) == (1, "slower"), result.stdout
    # A head that has the first one only is still allowed that.
    result, verdicts = project.ab("git:main", "git:feature~1")
    assert (result.returncode, verdicts[MORE]) == (0, "accepted"), result.stdout


def test_a_squash_merge_ends_it_and_a_recovery_is_named(project):
    assert project.accept("ab.json").returncode == 0
    project.git("add", "-A")
    project.git("commit", "-qm", "accept")
    project.git("checkout", "-q", "main")
    project.git("merge", "-q", "--squash", "feature")
    project.git("commit", "-qm", "squash")
    project.git("branch", "-qD", "feature")
    project.version(3)
    result, verdicts = project.ab("git:main~1", ".")
    assert result.returncode == 1, result.stdout
    assert verdicts[MORE] == "slower"
    entry = f"entry 1 ({MORE}) of baselines/accepted.toml\n"
    assert f"ended, because the base already contains what was accepted: {entry}" in result.stdout
    result, verdicts = project.ab("git:main~2", ".", factors=(1.0, 1.0))
    assert result.returncode == 0, result.stdout
    assert verdicts[MORE] == "same"
    assert (
        f"{MORE} is not as slow as accepted any more (1.00x, accepted 1.20x): remove entry 1 of"
        in result.stdout
    )


def test_runs_of_two_commits_are_compared_with_what_is_accepted(project):
    commits = [project.git("rev-parse", one) for one in ("main", "feature")]
    names = []
    for side, (commit, milliseconds) in enumerate(zip(commits, (1.0, 1.3), strict=True)):
        for number in range(4):
            tests = [entry(f"test_{one}", milliseconds if one == 0 else 1.0, seed=number) for one in range(6)]
            names.append(f"run-{side}-{number}.json")
            write(project.folder / names[-1], content(*tests, commit=commit))
    words = (*names[:4], "--json", "compare.json", "--", *names[4:])
    result = gnnbench("compare", *words, cwd=project.folder)
    assert result.returncode == 1, result.stdout + result.stderr
    assert not departure(json.loads((project.folder / "compare.json").read_text()), "compare")
    accepted = project.accept("compare.json", "test_a.py::test_0")
    assert accepted.returncode == 0, accepted.stderr
    result = gnnbench("compare", *words, cwd=project.folder)
    assert result.returncode == 0, result.stdout
    assert "0 slower, 1 accepted" in result.stdout
    assert "): more accurate: test_0\n" in result.stdout
    found = json.loads((project.folder / "compare.json").read_text())
    assert not departure(found, "compare")
    assert found["revisions"]["head"] == {"commits": [commits[1]], "dirty": False}
    markdown = gnnbench("compare", *names[:4], "--markdown", "--", *names[4:], cwd=project.folder)
    assert markdown.returncode == 0
    assert "**No slowdown beyond what is accepted in 6 benchmarks**" in markdown.stdout
    page = gnnbench("report", names[4], *names[:4], cwd=project.folder)
    assert page.stdout.startswith("No slowdown beyond what is accepted in 6 benchmarks: 1 accepted")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"head_dirty": True},
            "ab.json: the head had uncommitted changes, which no commit contains; commit them",
        ),
        ({"base_dirty": True}, "ab.json: the base had uncommitted changes"),
        (
            {"head_commit": None},
            "ab.json: the commit of the head is unknown; compare commits of a repository",
        ),
        ({"base_commit": "d" * 40}, "ab.json: git does not have commit dddddddddd here; fetch it"),
        ({"base_commit": "--all"}, "ab.json: git does not have commit --all here; fetch it"),
        ({"base_commit": "feature"}, "so it is not a commit that made it slower; compare two commits"),
        ({"base_commit": "feature", "head_commit": "main"}, "ab.json: the base contains the head's commit "),
    ],
)
def test_only_a_commit_is_accepted(project, changes, text):
    known = {name: project.git("rev-parse", name) for name in ("main", "feature")}
    project.edit(**{place: known.get(value, value) for place, value in changes.items()})
    result = project.accept("ab.json")
    assert result.returncode == 2
    assert text in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (project.folder / FILE).exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("nowhere.json",), "nowhere.json: cannot be read"),
        (("times-0.json",), "times-0.json: version None of the format, and this gnnbench reads 1"),
        (("ab.json", SUM), f"ab.json: {SUM} is same, not slower ("),
        (("ab.json", MORE, "test_mor"), "ab.json: unknown benchmark 'test_mor': "),
        (("ab.json", "--until", "2026-01-01"), "--until 2026-01-01 is past; give today or a later day"),
        (("ab.json", "--until", "soon"), "soon is not a day, as in 2027-01-31"),
        (("ab.json", "--reason", " "), "--reason is empty; say why the slowdown is intended"),
        (("pytest.ini",), "pytest.ini: not JSON, or cut off"),
    ],
)
def test_wrong_usage_is_a_line(project, words, text):
    result = (
        project.accept(*words) if "--reason" not in words else gnnbench("accept", *words, cwd=project.folder)
    )
    assert result.returncode == 2
    assert text in result.stderr
    assert "Traceback" not in result.stderr
    assert not (project.folder / FILE).exists()


def test_who_accepts_is_known(project):
    project.git("config", "--unset", "user.email")
    alone = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    result = gnnbench("accept", "ab.json", "--reason", "x", cwd=project.folder, **ALONE, **alone)
    assert result.returncode == 2
    assert "set git config user.name and git config user.email" in result.stderr


def test_a_wrong_file_ends_ab_before_anything_is_timed(project):
    (project.folder / "baselines").mkdir()
    (project.folder / FILE).write_text("[[accepted]]\nbenchmark = 'test_a'\n")
    result = gnnbench("ab", ".", ".", "--", "test_suite.py", cwd=project.folder, **ALONE)
    assert result.returncode == 2
    assert "accepted.toml: entry 1 (test_a) has no key ratio; add it, or remove the entry" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_run_file_that_was_not_compared_is_refused(project):
    write(project.folder / "run.json", content(entry("test_0")))
    result = project.accept("run.json")
    assert result.returncode == 2
    assert "run.json: a run file without verdicts: it was not compared; give a result" in result.stderr
