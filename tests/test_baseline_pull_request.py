"""`make baseline-pull-request`: make and git as they are, a remote, and a `gh` of the tests."""

import json
import os
import shutil
import subprocess

import pytest

from tests.gh import TOKEN, GitHub
from tests.suite import ROOT
from tests.variants.repositories import commit_all, git

BRANCH = "baseline/new"


@pytest.fixture
def github(tmp_path):
    return GitHub(tmp_path / "gh")


@pytest.fixture
def project(tmp_path):
    """A checkout as a job has it: one commit deep, of a remote that takes what is pushed."""
    start, remote, checkout = (tmp_path / name for name in ("start", "remote.git", "checkout"))
    (start / "baselines/timings").mkdir(parents=True)
    shutil.copy2(ROOT / "Makefile", start)
    shutil.copytree(ROOT / ".ci", start / ".ci")
    _record(start, "0001.json")
    commit_all(start, "start")
    git(tmp_path, "clone", "--quiet", "--bare", start, remote)
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{remote}", checkout)
    return checkout


def _propose(project, github, **changes):
    variables = {
        "PATH": github.path,
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_REPOSITORY": "owner/name",
        "GITHUB_REF_NAME": "main",
        "DETAILS": "https://github.com/owner/name/actions/runs/1",
    }
    usual = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "MAKE"))}
    environment = {**usual, "GIT_CONFIG_GLOBAL": "/dev/null", **variables, **changes}
    command = ["make", "baseline-pull-request"]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


def _record(project, name):
    (project / "baselines" / "timings" / name).write_text(json.dumps({"name": name}))


def _pushed(project):
    names = git(project.parent / "remote.git", "ls-tree", "-r", "--name-only", BRANCH).split("\n")
    return [name for name in names if name != "Makefile" and not name.startswith(".ci/")]


def test_records_are_pushed_and_proposed_once_and_nothing_new_proposes_nothing(project, github):
    remote = project.parent / "remote.git"
    found = _propose(project, github)
    assert (found.returncode, github.read()["pulls"]) == (0, [])
    assert "nothing new" in found.stdout
    assert BRANCH not in git(remote, "branch", "--list")

    _record(project, "0002.json")
    (project / "page.html").write_text("not a record")
    found = _propose(project, github)
    assert found.returncode == 0, found.stderr
    held = [path for path in project.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert held == []
    assert _pushed(project) == ["baselines/timings/0001.json", "baselines/timings/0002.json"]
    [opened] = github.read()["pulls"]
    assert (opened["--head"], opened["--base"]) == (BRANCH, "main")
    assert "https://github.com/owner/name/actions/runs/1" in opened["--body"]
    title = git(remote, "log", "-1", "--format=%an %s", BRANCH)
    assert title == "github-actions[bot] New timings to compare with"

    # The next night nobody has merged it: what was proposed is replaced, and its pull request stays.
    git(project, "switch", "--quiet", "main")
    _record(project, "0003.json")
    assert _propose(project, github).returncode == 0
    assert _pushed(project) == ["baselines/timings/0001.json", "baselines/timings/0003.json"]
    assert len(github.read()["pulls"]) == 1


def test_what_github_does_not_take_fails(project, github):
    _record(project, "0002.json")
    found = _propose(project, github, GITHUB_TOKEN="expired")
    assert found.returncode != 0
    assert "Resource not accessible" in found.stderr
