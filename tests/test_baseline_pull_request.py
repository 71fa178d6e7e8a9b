"""`make baseline-pull-request`: make, git and curl as they are, a remote and a server with GitHub's calls."""

import json
import os
import shutil
import subprocess
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.suite import ROOT

BRANCH = "baseline/new"
TOKEN = "a-token"

pytestmark = pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("git")), reason="needs git and curl"
)


class _GitHub(ThreadingHTTPServer):
    """Keeps pull requests, and answers as https://docs.github.com/en/rest/pulls/pulls says."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.opened = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)
        assert query["state"] == ["open"]
        owner, _, branch = query["head"][0].partition(":")
        found = [one for one in self.server.opened if (owner, branch) == ("owner", one["head"])]
        self._answer(HTTPStatus.OK, found)

    def do_POST(self):
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(HTTPStatus.CREATED, content)
        self.server.opened.append(content)

    def _answer(self, status, content):
        known = self.headers["Authorization"] == f"Bearer {TOKEN}"
        right = urlsplit(self.path).path == "/repos/owner/name/pulls"
        if not (known and right):
            status, content = HTTPStatus.FORBIDDEN, {"message": "Resource not accessible by integration"}
        body = (
            json.dumps(content, indent=2).replace("[]", "[\n\n]").encode()
        )  # as GitHub writes an empty list
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        pass


@pytest.fixture
def github():
    with _GitHub() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _git(folder, *arguments):
    return subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def project(tmp_path):
    """A checkout as a job has it: one commit deep, of a remote that takes what is pushed."""
    start, remote, checkout = (tmp_path / name for name in ("start", "remote.git", "checkout"))
    (start / ".ci").mkdir(parents=True)
    shutil.copy2(ROOT / "Makefile", start)
    shutil.copy2(ROOT / ".ci" / "baseline-pull-request", start / ".ci")
    (start / "baselines" / "timings").mkdir(parents=True)
    (start / "baselines" / "timings" / "0001.json").write_text("{}")
    _git(start, "init", "--quiet", "--initial-branch=main")
    _git(start, "add", ".")
    _git(start, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "start")
    _git(tmp_path, "clone", "--quiet", "--bare", start, remote)
    _git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{remote}", checkout)
    return checkout


def _propose(project, github, **changes):
    variables = {
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_API_URL": github.url,
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
    return _git(remote, "ls-tree", "-r", "--name-only", BRANCH, "baselines").split("\n")


def test_records_are_pushed_and_proposed_once(project, github):
    _record(project, "0002.json")
    (project / "trend.html").write_text("not a record")
    found = _propose(project, github)
    assert found.returncode == 0, found.stderr
    assert _pushed(project) == ["baselines/timings/0001.json", "baselines/timings/0002.json"]
    [opened] = github.opened
    assert (opened["head"], opened["base"]) == (BRANCH, "main")
    assert "https://github.com/owner/name/actions/runs/1" in opened["body"]
    remote = project.parent / "remote.git"
    assert (
        _git(remote, "log", "-1", "--format=%an %s", BRANCH)
        == "github-actions[bot] New timings to compare with"
    )
    assert "trend.html" not in _git(remote, "ls-tree", "-r", "--name-only", BRANCH)

    # The next night nobody has merged it: what was proposed is replaced, and its pull request stays.
    _git(project, "switch", "--quiet", "main")
    _record(project, "0003.json")
    assert _propose(project, github).returncode == 0
    assert _pushed(project) == ["baselines/timings/0001.json", "baselines/timings/0003.json"]
    assert len(github.opened) == 1


def test_nothing_new_proposes_nothing(project, github):
    found = _propose(project, github)
    assert found.returncode == 0
    assert "nothing new" in found.stdout
    assert not github.opened
    assert BRANCH not in _git(project.parent / "remote.git", "branch", "--list")


@pytest.mark.parametrize(
    "changes",
    [{"GITHUB_TOKEN": "expired"}, {"GITHUB_API_URL": "http://127.0.0.1:9"}],
    ids=["refused", "away"],
)
def test_what_github_does_not_take_fails(project, github, changes):
    _record(project, "0002.json")
    found = _propose(project, github, **changes)
    assert found.returncode != 0
    assert "did not list the pull requests" in found.stderr
    assert ("Resource not accessible" in found.stderr) == ("GITHUB_TOKEN" in changes)


def test_the_token_is_in_no_file_of_the_checkout(project, github):
    _record(project, "0002.json")
    assert _propose(project, github).returncode == 0
    held = [path for path in project.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert held == []
