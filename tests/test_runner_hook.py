"""What a self-hosted runner asks before each job, run as it does, with events of the form of GitHub's."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.suite import ROOT

HOOK = ROOT / ".ci" / "job-started.sh"
MINE = "owner/name"
THEIRS = "stranger/name"

pytestmark = pytest.mark.skipif(
    not Path("/usr/bin/python3").exists(), reason="the hook is for a runner with /usr/bin/python3"
)


def _pull_request(head, action="synchronize", label=None):
    event = {"action": action, "pull_request": {"head": {"repo": head and {"full_name": head}}}}
    return {**event, "label": {"name": label}} if label else event


def _admits(folder, name, event):
    path = folder / "event.json"
    path.write_text(json.dumps(event))
    github = {"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path), "GITHUB_REPOSITORY": MINE}
    answer = subprocess.run(["bash", "-e", HOOK], env=github, capture_output=True, text=True, check=False)
    if answer.returncode:
        assert answer.stderr.startswith("::error::"), answer.stderr
    return answer.returncode == 0


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("schedule", {}),
        ("workflow_dispatch", {}),
        ("pull_request", _pull_request(MINE)),
        ("pull_request", _pull_request(MINE, "opened")),
        ("pull_request", _pull_request(THEIRS, "labeled", "gpu")),
    ],
)
def test_admits(tmp_path, name, event):
    assert _admits(tmp_path, name, event)


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("pull_request", _pull_request(THEIRS)),
        ("pull_request", _pull_request(THEIRS, "opened")),
        ("pull_request", _pull_request(THEIRS, "labeled", "documentation")),
        # The label is there, but this is the event of a commit that came after it.
        ("pull_request", {**_pull_request(THEIRS), "labels": [{"name": "gpu"}]}),
        ("pull_request", _pull_request(None)),  # the fork was removed
        ("pull_request_target", _pull_request(THEIRS)),
        ("pull_request_review", _pull_request(THEIRS, "submitted")),
        ("issue_comment", {"action": "created"}),
        ("workflow_run", {}),
    ],
)
def test_refuses(tmp_path, name, event):
    assert not _admits(tmp_path, name, event)


def test_an_event_that_cannot_be_read_is_refused(tmp_path):
    github = {
        "GITHUB_EVENT_NAME": "push",
        "GITHUB_EVENT_PATH": str(tmp_path / "none"),
        "GITHUB_REPOSITORY": MINE,
    }
    assert subprocess.run(["bash", "-e", HOOK], env=github, capture_output=True, check=False).returncode != 0
