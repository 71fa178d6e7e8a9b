"""`make baseline-pull-request`: make, git and curl as they are, a remote and a server with GitHub's calls."""

import json
import os
import shutil
import subprocess
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.github_server import TOKEN, GitHub, github
from tests.suite import ROOT
from tests.variants.repositories import git

BRANCH = "baseline/new"

pytestmark = pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("git")), reason="needs git and curl"
)


class Pulls(GitHub):
    """Keeps pull requests, and answers as https://docs.github.com/en/rest/pulls/pulls says."""

    def __init__(self):
        super().__init__()
        self.opened = []

    def reply(self, _method, path, token, content):
        url = urlsplit(path)
        if (token, url.path) != (f"Bearer {TOKEN}", "/repos/owner/name/pulls"):
            return 403, {"message": "Resource not accessible by integration"}, {}
        if content:
            self.opened.append(content)
            return 201, content, {}
        query = parse_qs(url.query)
        assert query["state"] == ["open"]
        found = [one for one in self.opened if query["head"] == [f"owner:{one['head']}"]]
        return 200, found or b"[\n\n]", {}  # as GitHub writes an empty list


@pytest.fixture
def server():
    with github(state=Pulls()) as state:
        yield state


@pytest.fixture
def project(tmp_path):
    """A checkout as a job has it: one commit deep, of a remote that takes what is pushed."""
    start, remote, checkout = (tmp_path / name for name in ("start", "remote.git", "checkout"))
    (start / ".ci").mkdir(parents=True)
    shutil.copy2(ROOT / "Makefile", start)
    shutil.copy2(ROOT / ".ci" / "baseline-pull-request", start / ".ci")
    (start / "baselines" / "timings").mkdir(parents=True)
    (start / "baselines" / "timings" / "0001.json").write_text("{}")
    git(start, "init", "--quiet", "--initial-branch=main")
    git(start, "add", ".")
    git(start, "commit", "--quiet", "-m", "start")
    git(tmp_path, "clone", "--quiet", "--bare", start, remote)
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{remote}", checkout)
    return checkout


def _propose(project, server, **changes):
    variables = {
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_API_URL": server.root,
        "GITHUB_REPOSITORY": "owner/name",
        "GITHUB_REF_NAME": "main",
        "DETAILS": "https://github.com/owner/name/actions/runs/1",
    }
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GIT_", "MAKE", "MFLAGS")) and "proxy" not in name.lower()
    }
    return subprocess.run(
        ["make", "baseline-pull-request"],
        cwd=project,
        env={**kept, "GIT_CONFIG_GLOBAL": "/dev/null", **variables, **changes},
        capture_output=True,
        text=True,
        check=False,
    )


def _record(project, name):
    (project / "baselines" / "timings" / name).write_text(json.dumps({"name": name}))


def _pushed(project):
    remote = project.parent / "remote.git"
    return git(remote, "ls-tree", "-r", "--name-only", BRANCH, "baselines").split("\n")


def test_records_are_pushed_and_proposed_once_and_nothing_new_proposes_nothing(project, server):
    remote = project.parent / "remote.git"
    found = _propose(project, server)
    assert found.returncode == 0
    assert "nothing new" in found.stdout
    assert not server.opened
    assert BRANCH not in git(remote, "branch", "--list")

    _record(project, "0002.json")
    (project / "trend.html").write_text("not a record")
    found = _propose(project, server)
    assert found.returncode == 0, found.stderr
    held = [path for path in project.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert held == []
    assert _pushed(project) == ["baselines/timings/0001.json", "baselines/timings/0002.json"]
    [opened] = server.opened
    assert (opened["head"], opened["base"]) == (BRANCH, "main")
    assert "https://github.com/owner/name/actions/runs/1" in opened["body"]
    title = git(remote, "log", "-1", "--format=%an %s", BRANCH)
    assert title == "github-actions[bot] New timings to compare with"
    assert "trend.html" not in git(remote, "ls-tree", "-r", "--name-only", BRANCH)

    # The next night nobody has merged it: what was proposed is replaced, and its pull request stays.
    git(project, "switch", "--quiet", "main")
    _record(project, "0003.json")
    assert _propose(project, server).returncode == 0
    assert _pushed(project) == ["baselines/timings/0001.json", "baselines/timings/0003.json"]
    assert len(server.opened) == 1


def test_what_github_does_not_take_fails(project, server):
    for changes in ({"GITHUB_TOKEN": "expired"}, {"GITHUB_API_URL": "http://127.0.0.1:9"}):
        _record(project, "0002.json")
        found = _propose(project, server, **changes)
        assert found.returncode != 0
        assert "did not list the pull requests" in found.stderr
        assert ("Resource not accessible" in found.stderr) == ("GITHUB_TOKEN" in changes)
        git(project, "switch", "--quiet", "main")
