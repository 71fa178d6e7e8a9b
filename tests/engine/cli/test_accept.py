"""What is accepted, what that changes, and what is refused, in a real repository."""

import json
import tomllib
from dataclasses import replace

import pytest

from gnnbench.engine.cli.common import exit_code
from gnnbench.engine.drive.settle import apply_excuses
from gnnbench.engine.ground import codec
from gnnbench.engine.ground.codec import as_text
from gnnbench.engine.judge.accepted import FILE
from gnnbench.engine.judge.memory import MemoryChange
from gnnbench.engine.judge.verdict import Judgement
from gnnbench.engine.store import accepted
from tests.engine.cli import saved
from tests.engine.process.variants import repositories

SUM, MORE = "test_suite.py::test_sum", "test_suite.py::test_more"


class Project:
    """A repository of two commits, and commands in it."""

    def __init__(self, folder, call):
        self.folder, self._call = folder, call
        self.commits = {}
        for side in ("base", "head"):
            (folder / "library.py").write_text(f"SIDE = '{side}'\n")
            self.commits[side] = repositories.commit_all(folder, side)

    def accept(self, *words):
        return self.call("accept", *words, "--reason", "more accurate")

    def call(self, *words):
        status, out, err = self._call(*words)
        return status, " ".join(out.split()) or err

    def entries(self):
        file = self.folder / FILE
        return tomllib.loads(file.read_text())["accepted"] if file.exists() else []


@pytest.fixture
def project(tmp_path, monkeypatch, call):
    repositories.without_settings(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path, call)


def test_a_slowdown_of_ab_that_is_accepted_fails_no_more(project):
    result = saved.result(benchmarks={SUM: saved.SAME, MORE: saved.SLOWER}, **project.commits)
    file = project.folder / "ab.json"
    file.write_text(as_text(result))
    status, said = project.accept("ab.json")
    assert status == 0, said
    (one,) = project.entries()
    assert (one["benchmark"], one["reason"]) == (MORE, "more accurate")

    thresholds = replace(result.thresholds, accepted=accepted.find(project.folder))
    result = apply_excuses(replace(result, thresholds=thresholds))
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
        ("base", ["head"], ", so no change can be accepted; compare two commits"),
    ],
)
def test_only_a_change_of_the_project_is_accepted(project, side, commits, text):
    saved.ab(project.folder, **project.commits)
    file = project.folder / "ab.json"
    found = json.loads(file.read_text())
    found[side]["commits"] = [project.commits[name] for name in commits]
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
    assert "accepted.toml: accepted[0]: object missing required field `reason`; correct it" in said


def test_more_memory_is_accepted_too_and_what_an_entry_is_about_is_not_accepted_again(project):
    judgement = Judgement("slower", "", 1.2, *2 * (1.18, 1.22))
    found = codec.encode(saved.result(benchmarks={MORE: judgement}, **project.commits))
    found["comparison"]["rows"][0]["memory"] = codec.encode(MemoryChange("more memory", 10**9, 10**9 + 100))
    (project.folder / "ab.json").write_text(json.dumps(found))
    status, said = project.accept("ab.json")
    assert (status, "and 100 B more memory" in said) == (0, True)
    (entry,) = project.entries()
    assert (entry["ratio"], entry["low"], entry["high"], entry["more_bytes"]) == (1.2, 1.18, 1.22, 100)
    status, said = project.accept("ab.json")
    assert (status, len(project.entries())) == (2, 1)
    assert f"entry 1 ({MORE}) already accepts a change of {MORE}; remove that entry, and compare" in said
