"""The workflow that gnnbench init writes, run as a runner would: on a pull request's merge commit."""

import json
import os
import subprocess
import sysconfig
from pathlib import Path

import pytest
import yaml

from gnnbench.engine.drive.adopt import Project
from tests.engine.cli.saved import rows
from tests.engine.process.variants.repositories import commit_all, git
from tests.engine.process.workers import machine
from tests.runs import ROOT, environment
from tests.test_action import ACTION, NOISE, THING, Job, workflow

SUITE = "import thing\n\ndef test_sum(benchmark):\n    benchmark(thing.work, range(100))\n"
METADATA = '[project]\nname = "thing"\nversion = "1"\n[tool.setuptools]\npy-modules = ["thing"]\n'
OFFLINE = {
    "PIP_NO_INDEX": "1",
    "PIP_NO_DEPS": "1",
    "PIP_NO_BUILD_ISOLATION": "0",
    "PIP_CONFIG_FILE": os.devnull,
    "PYTHONPATH": sysconfig.get_path("purelib"),
    "PYTEST_ADDOPTS": "-p no:rerunfailures",  # its thread hides from Python 3.11 which functions run
}
KEY = "hashFiles('pyproject.toml', 'setup.*', 'requirements*.txt', '.github/workflows/benchmarks.yml')"


class PullRequest(Job):
    """A server's repository with `main` and pull request 7, and a runner of one's own, without an index."""

    def __init__(self, folder, author):
        text = workflow(Project(author, ("benchmarks/test_thing.py::test_sum",)), str(ROOT))
        self.workflow, self.author, self.server = yaml.safe_load(text), author, folder / "server"
        super().__init__(folder / "workspace", environment(**OFFLINE))
        self.variables |= self.workflow["env"]
        self.first = dict(self.variables)
        git(folder, "init", "-q", "--bare", str(self.server))

    def change(self, file, text):
        """Push a commit; do what the server does: a merge commit whose first parent is the base."""
        (self.author / file).write_text(text)
        commit_all(self.author)
        head, tree = (git(self.author, "rev-parse", name) for name in ("HEAD", "HEAD^{tree}"))
        merged = git(self.author, "commit-tree", tree, "-p", "main", "-p", head, "-m", "merge")
        refs = ("main", f"{head}:refs/pull/7/head", f"{merged}:refs/pull/7/merge")
        git(self.author, "push", "-q", "-f", str(self.server), *refs)

    def job(self, name, *labels):
        """Run a job in a new checkout; return the action's part of it, or None if it does not run."""
        subprocess.run(["rm", "-rf", self.folder], check=True)
        self.folder.mkdir()
        git(self.folder, "init", "-q")
        git(self.folder, "fetch", "-q", str(self.server), "+refs/pull/7/merge:refs/remotes/pull/7/merge")
        git(self.folder, "checkout", "-q", "--detach", "refs/remotes/pull/7/merge")
        self.variables = dict(self.first)
        self.values |= {
            "toJSON(github.event.pull_request.labels.*.name)": json.dumps(labels, indent=2),
            "github.event.repository.name": "thing",
            "runner.tool_cache": str(self.folder.parent),
            KEY: "a hash",
        }
        action = None
        for step in self.workflow["jobs"][name]["steps"]:
            if not self._holds(step.get("if", "success()")):
                continue
            if "run" in step:
                self._shell(step)
                assert not self.failed, self.text
            elif step["uses"] == "./.gnnbench":
                place = {"GITHUB_ACTION_PATH": str(self.folder / ".gnnbench")}
                known = {**self.variables, **place}
                action = Job(self.folder, known, steps=ACTION["runs"]["steps"], **step["with"]).run()
        return action


@pytest.fixture
def pull_request(tmp_path):
    author = tmp_path / "author"
    (author / "benchmarks").mkdir(parents=True)
    (author / "benchmarks/test_thing.py").write_text(SUITE)
    (author / "pyproject.toml").write_text(METADATA)
    (author / "thing.py").write_text(THING.format(1e-3))
    machine(tmp_path / "times.json", {"test_sum": "thing:SECONDS"}, **NOISE)
    commit_all(author)
    git(author, "checkout", "-q", "-b", "change")
    return PullRequest(tmp_path, author)


def changed(pull_request, *labels):
    """Return whether the benchmarks run, by the step that says so."""
    pull_request.workflow["jobs"]["affected"]["steps"][2:] = []
    pull_request.job("affected", *labels)
    return pull_request.outputs["changed"]["run"]


def test_paths_and_labels_say_whether_the_benchmarks_run(pull_request):
    pull_request.change("README.md", "a page")
    assert changed(pull_request) == "false"
    assert changed(pull_request, "a bug", "benchmarks") == "true"
    pull_request.change("thing.py", THING.format(2e-3))
    assert changed(pull_request, "a bug", "my benchmarks") == "true"
    assert changed(pull_request, "no benchmarks", "benchmarks") == "false"


@pytest.mark.nightly
def test_slower_is_advice_and_another_output_fails(pull_request):
    pull_request.change("thing.py", THING.format(1.3e-3))
    affected = pull_request.job("affected")
    assert affected.failed == [], affected.text
    timed = pull_request.job("ab")
    assert timed.failed == [], timed.text
    [[result, _]] = timed.uploads.values()
    [row] = rows(json.loads(Path(result).read_text())).values()
    assert row["verdict"] == "slower"
    [_] = (pull_request.folder.parent / "gnnbench-thing/cache/used").iterdir()  # so both jobs read one cache
    pull_request.change("thing.py", THING.format(1.3e-3).replace("sum(numbers)", "max(numbers)"))
    affected = pull_request.job("affected")
    assert affected.failed == [("ab", 1)], affected.text
