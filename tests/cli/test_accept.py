"""What is accepted, what that changes, and what is refused, in a real repository."""

import json
import tomllib
from dataclasses import replace

import pytest

from gnnbench.engine.cli import main
from gnnbench.engine.cli.common import exit_code
from gnnbench.engine.drive.settle import settled
from gnnbench.engine.ground import codec
from gnnbench.engine.ground.codec import as_text
from gnnbench.engine.judge.accepted import FILE
from gnnbench.engine.judge.memory import MemoryChange
from gnnbench.engine.judge.verdict import Judgement
from gnnbench.engine.store import accepted
from tests.cli import saved
from tests.variants import repositories

SUM, MORE = "test_suite.py::test_sum", "test_suite.py::test_more"
SLOWER = "test_a.py::b0"


class Project:
    """A repository: `main` has version 1 of a library, and the branch `feature` version 2."""

    def __init__(self, folder, capsys):
        self.folder, self.capsys = folder, capsys
        (folder / "library.py").write_text("VERSION = 1\n")
        repositories.commit_all(folder, "version 1")
        self.git("checkout", "-q", "-b", "feature")
        self.version(2)

    def git(self, *words):
        return repositories.git(self.folder, *words)

    def version(self, number):
        (self.folder / "library.py").write_text(f"VERSION = {number}\n")
        self.git("commit", "-qam", f"version {number}")

    def commit_of(self, name):
        return self.git("rev-parse", name)

    def accept(self, *words, reason="more accurate"):
        return self.call("accept", *words, "--reason", reason)

    def call(self, *words):
        status = main.main(list(words))
        shown = self.capsys.readouterr()
        return status, " ".join(shown.out.split()) or shown.err

    def entries(self):
        file = self.folder / FILE
        return tomllib.loads(file.read_text())["accepted"] if file.exists() else []


@pytest.fixture
def project(tmp_path, monkeypatch, capsys):
    repositories.without_settings(monkeypatch)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return Project(tmp_path / "project", capsys)


def test_a_slowdown_of_ab_that_is_accepted_fails_no_more(project):
    commits = {"base": project.commit_of("main"), "head": project.commit_of("feature")}
    result = saved.result(benchmarks={SUM: saved.SAME, MORE: saved.SLOWER}, **commits)
    file = project.folder / "ab.json"
    file.write_text(as_text(result))
    status, said = project.accept("ab.json")
    assert status == 0, said
    (one,) = project.entries()
    assert (one["benchmark"], one["reason"]) == (MORE, "more accurate")
    status, said = project.accept("ab.json")
    assert (status, len(project.entries())) == (2, 1)
    assert f"{MORE} is within what entry 1 ({MORE}) accepts; leave it out, or remove that entry first" in said

    thresholds = replace(result.thresholds, accepted=accepted.find(project.folder))
    result = settled(replace(result, thresholds=thresholds))
    file.write_text(as_text(result))
    _, slower = saved.rows(json.loads(file.read_text())).values()
    assert (slower["verdict"], slower["allowed"]["reasons"]) == ("accepted", ["more accurate"])
    assert exit_code(result.comparison, strict=False) == 0
    headline = "No slowdown beyond what is accepted in 2 benchmarks; 1 accepted, 1 same"
    assert project.call("report", "ab.json")[1].startswith(headline)

    status, said = project.accept("ab.json")
    assert status == 2
    assert "ab.json: no benchmark is slower or needs more memory, so there is nothing to accept" in said
    said = project.accept("ab.json", MORE)[1]
    assert f"{MORE} is accepted, not slower (accepted: more accurate), and needs no memory" in said


@pytest.mark.parametrize(
    ("side", "commits", "text"),
    [
        ("head", [], "the commit of the head is unknown; compare commits of a repository"),
        ("base", ["feature"], ", so no change made it slower; compare two commits"),
    ],
)
def test_only_a_change_of_the_project_is_accepted(project, side, commits, text):
    saved.ab(project.folder, base=project.commit_of("main"), head=project.commit_of("feature"))
    file = project.folder / "ab.json"
    found = json.loads(file.read_text())
    found[side]["commits"] = list(map(project.commit_of, commits))
    file.write_text(json.dumps(found))
    status, said = project.accept("ab.json")
    assert (status, text in said, said.count("\n"), project.entries()) == (2, True, 1, []), said
    file.write_text(json.dumps(found | {"head": {**found["head"], "dirty": True}}))
    assert project.accept("ab.json")[0] == (0 if commits else 2), "uncommitted changes are a change"


def test_a_wrong_file_ends_ab_before_anything_is_timed(project):
    (project.folder / "baselines").mkdir()
    (project.folder / FILE).write_text("[[accepted]]\nbenchmark = 'test_a'\n")
    status, said = project.call("ab", ".", ".", "--", ".")
    assert (status, said.count("\n")) == (2, 1)
    assert "accepted.toml: entry 1 (test_a): object missing required field `reason`; correct it" in said


def test_an_entry_on_top_of_another_has_what_is_beyond_it(project):
    """What was accepted is 1.2 times the time and 100 more bytes; then the branch went on."""
    sides = {"base": project.commit_of("main"), "head": project.commit_of("feature")}

    def accept(verdict, ratio, more_bytes, **commits):
        judgement = Judgement(verdict, "", ratio, *2 * (ratio / 1.02, ratio * 1.02))
        found = codec.encode(saved.result(benchmarks={MORE: judgement}, **sides | commits))
        if more_bytes:
            memory = MemoryChange("more memory", 10**9, 10**9 + more_bytes)
            found["comparison"]["rows"][0]["memory"] = codec.encode(memory)
        (project.folder / "ab.json").write_text(json.dumps(found))
        status, said = project.accept("ab.json", reason=f"{verdict} {ratio} {more_bytes}")
        assert status or ("more memory" in said) == bool(more_bytes)
        last = project.entries()[-1]
        return said if status else (last.get("ratio"), last.get("more_bytes"))

    assert accept("slower", 1.2, 100) == (1.2, 100)
    repositories.commit_all(project.folder, "accept")
    project.version(3)
    first = (project.folder / FILE).read_text()
    for found, expected in (
        (("slower", 1.5, 0), (1.25, None)),
        (("slower", 1.5, 150), (1.25, 50)),
        (("same", 1.0, 150), (None, 50)),
    ):
        assert accept(*found, head=project.commit_of("feature")) == expected
        (project.folder / FILE).write_text(first)
    for within in (("slower", 1.21, 0), ("slower", 1.2, 80), ("same", 1.0, 100)):
        said = accept(*within, head=project.commit_of("feature"))
        assert f"ab.json: {MORE} is within what entry 1 ({MORE}) accepts; leave it out" in said
    assert len(project.entries()) == 1
