"""What a self-hosted runner asks before each job, run as it does, with events of the form of GitHub's."""

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.engine.process.variants import repositories
from tests.runs import ROOT

HOOK = ROOT / ".ci" / "job-started.sh"
MINE = "owner/name"
THEIRS = "stranger/name"
WORKER = """
import pathlib, subprocess, sys
code = subprocess.run(sys.argv[2:], check=False).returncode
pathlib.Path(sys.argv[1]).write_text(str(code))
"""
"""The runner's worker: it runs the hook, and then steps: if the hook failed, those with `if: always()`."""

RUNNER = ["/bin/bash", "-e", str(HOOK)]
"""As the runner calls it."""

pytestmark = pytest.mark.skipif(
    not Path("/usr/bin/python3").exists(), reason="the hook is for a runner with /usr/bin/python3"
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """One whose pull request has two commits, with the merge that GitHub makes of each."""
    folder = tmp_path_factory.mktemp("server")
    (folder / MINE).mkdir(parents=True)
    git = partial(repositories.git, folder / MINE)
    git("init", "--quiet", "--initial-branch=main")
    git("config", "uploadpack.allowAnySHA1InWant", "true")  # as GitHub does
    git("config", "uploadpack.allowFilter", "true")
    tree = git("write-tree")
    base = git("commit-tree", tree, "-m", "base")
    head = git("commit-tree", tree, "-p", base, "-m", "head")
    later = git("commit-tree", tree, "-p", head, "-m", "later")
    was, merge = (git("commit-tree", tree, "-p", base, "-p", of, "-m", "merge") for of in (head, later))
    git("update-ref", "refs/pull/7/merge", merge)
    git("update-ref", "refs/pull/7/was", was)
    return SimpleNamespace(server=f"file://{folder}", head=head, merge=was, later_merge=merge)


@pytest.fixture
def refused(tmp_path, repository):
    """Return a function that runs the hook in a worker, and returns what a refused job is told."""

    def refused(name, event, *, commit=repository.merge, command=RUNNER, **variables):
        path, steps = tmp_path / "event.json", tmp_path / "steps"
        path.write_text(json.dumps(event))
        github = {
            "GITHUB_EVENT_NAME": name,
            "GITHUB_EVENT_PATH": str(path),
            "GITHUB_REPOSITORY": MINE,
            "GITHUB_SERVER_URL": repository.server,
            "GITHUB_SHA": commit,
            "PATH": os.defpath,
            **variables,
        }
        worker = subprocess.run(
            [sys.executable, "-I", "-S", "-c", WORKER, steps, *command, "0"],
            env=github,
            capture_output=True,
            text=True,
            check=False,
        )
        if steps.exists():  # a step ran
            assert (worker.returncode, steps.read_text()) == (0, "0")
            steps.unlink()
            return None
        assert worker.returncode == -signal.SIGKILL
        assert worker.stderr.splitlines()[-1].startswith("::error::"), worker.stderr
        return worker.stderr

    return refused


def _pull_request(repository, action="synchronize", label=None, commit="a" * 40):
    head = {"sha": commit, "repo": repository and {"full_name": repository}}
    return {"action": action, "pull_request": {"head": head}, "label": {"name": label}}


@pytest.fixture
def labelled(repository):
    """Return the event that somebody set the label on a fork's commit."""
    return _pull_request(THEIRS, "labeled", "gpu", repository.head)


FORK_PUSHED = _pull_request(THEIRS)


def test_admits_what_is_of_this_repository(refused):
    assert not refused("schedule", {})
    assert not refused("workflow_dispatch", {})
    assert not refused("pull_request", _pull_request(MINE))


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("pull_request", _pull_request(THEIRS, "labeled", "documentation")),
        # The label is there, but this is the event of a commit that came after it.
        ("pull_request", {**FORK_PUSHED, "labels": [{"name": "gpu"}]}),
        ("pull_request", _pull_request(None)),  # the fork was removed
        ("pull_request_target", FORK_PUSHED),
        ("issue_comment", _pull_request(MINE)),
        ("pull_request", []),
    ],
)
def test_refuses_and_no_step_runs(refused, name, event):
    assert refused(name, event)


def test_refuses_a_commit_that_is_not_the_labelled_one_and_what_it_cannot_check(
    refused, repository, labelled
):
    told = refused("pull_request", labelled, commit=repository.later_merge)
    assert f"set on {repository.head}, and this run is of another commit" in told
    assert refused("pull_request", labelled, commit=repository.head), "which is no merge"
    assert refused("pull_request", labelled, commit="a" * 40)
    assert refused("pull_request", labelled, GITHUB_SERVER_URL="file:///nowhere")
    assert refused("pull_request", labelled, GITHUB_EVENT_PATH="/nowhere")


FUNCTIONS = ("exec", "exit", "kill", "sleep", "env", "python3", "echo", "test", "builtin")
BEFORE_THE_FIRST_LINE = {"leaves", "options"}
"""So the runner itself must not have them."""


@pytest.fixture
def hostile(tmp_path):
    """Return environments, each of which would let a script pass that trusts it."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("env", "python3", "git", "sleep", "kill"):
        (programs / name).write_text("#!/bin/sh\nexit 0\n")
        (programs / name).chmod(0o755)
    start = tmp_path / "start.sh"
    start.write_text(
        "shopt -s expand_aliases\nalias exec=exit\nexec() { exit 0; }\nkill() { :; }\ntrap 'exit 0' EXIT\n"
    )
    (tmp_path / "leave.sh").write_text("exit 0\n")
    (tmp_path / "json.py").write_text("raise SystemExit(0)\n")
    return {
        "functions": {f"BASH_FUNC_{name}%%": "() { echo hostile; exit 0; }" for name in FUNCTIONS},
        "programs": {"PATH": f"{programs}:{os.defpath}"},
        "modules": {"PYTHONPATH": str(tmp_path), "PYTHONSTARTUP": str(tmp_path / "json.py")},
        "git": {"GIT_DIR": "/nowhere", "GIT_CONFIG_COUNT": "1", "GIT_EXEC_PATH": str(programs)},
        "definitions": {"BASH_ENV": str(start)},
        "leaves": {"BASH_ENV": str(tmp_path / "leave.sh")},
        "options": {"SHELLOPTS": "noexec"},
    }


def test_no_environment_lets_a_job_pass(refused, hostile, labelled):
    for kind, variables in hostile.items():
        command = [str(HOOK)] if kind in BEFORE_THE_FIRST_LINE else RUNNER
        assert refused("pull_request", FORK_PUSHED, command=command, **variables), kind
        assert not refused("pull_request", labelled, command=command, **variables), kind
