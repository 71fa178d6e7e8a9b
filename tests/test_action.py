"""The steps of action.yml, run as GitHub's runner runs them, in a clean folder; uploads are GitHub's."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gnnbench.engine.drive.adopt import Project, make
from tests.engine.cli.saved import rows
from tests.engine.process.variants.repositories import commit_all
from tests.engine.process.workers import machine
from tests.gh import TOKEN, GitHub
from tests.runs import ROOT, environment

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
NOISE = {"sigma": 0.002, "drift": 0}
SUITE = """
import thing

def test_sum(benchmark):
    benchmark(thing.work, range(100))

def test_max(benchmark):
    benchmark(max, range(100))
"""
THING = "SECONDS = {}\n\ndef work(numbers):\n    return sum(numbers) + bool(SECONDS)\n"


def variables(**changes):
    """Return the variables of a runner on which gnnbench is installed."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return environment(**{"PATH": path, "PYTEST_ADDOPTS": None, **changes})


@pytest.fixture
def repository(tmp_path):
    """Two commits; the second makes one of two benchmarks 1.3 times slower, by the simulated clock."""
    folder = tmp_path / "repository"
    (folder / "benchmarks").mkdir(parents=True)
    (folder / "benchmarks/test_thing.py").write_text(SUITE)
    machine(tmp_path / "times.json", {"test_sum": "thing:SECONDS", "test_max": 1e-3}, **NOISE)
    for seconds in (1e-3, 1.3e-3):
        (folder / "thing.py").write_text(THING.format(seconds))
        commit_all(folder, f"{seconds} s")
    return folder


def workflow(project, action):
    """Return the workflow that gnnbench init writes."""
    files = make(project, action, settings=True).files
    return next(text for path, text in files.items() if path.suffix == ".yml")


class Job:
    """A job whose steps are the action's, without its set-up."""

    def __init__(self, folder, known=None, *, steps=ACTION["runs"]["steps"][1:], **inputs):
        self.steps, self.folder = steps, folder
        self.temporary = folder.parent / f"job-{len(list(folder.parent.iterdir()))}"
        self.temporary.mkdir()
        self.summary = self.temporary / "summary.md"
        self.inputs = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
        self.inputs |= {name.replace("_", "-"): value for name, value in inputs.items()}
        self.variables = {
            **(known or variables()),
            "GNNBENCH_FAKE_CLOCK": f"5:{folder.parent / 'times.json'}",
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_REPOSITORY": "o/r",
        }
        self.outputs, self.uploads, self.failed, self.text = {}, {}, [], ""
        self.values = {
            "runner.temp": str(self.temporary),
            "github.server_url": "https://github.com",
            "github.repository": "o/r",
            "github.run_id": "3",
            "vars.TORCH_INDEX": "",
        }

    def run(self):
        for step in self.steps:
            if not self._holds(step.get("if", "success()")):
                continue
            if "uses" in step:
                paths = self._filled(step["with"]["path"]).split()
                assert all(Path(path).is_file() for path in paths)
                self.uploads[self._filled(step["with"]["name"])] = paths
            else:
                self._shell(step)
        return self

    def _shell(self, step):
        files = {f"GITHUB_{name}": self.temporary / name for name in ("OUTPUT", "ENV", "PATH")}
        for file in files.values():
            file.write_text("")
        given = {name: self._filled(str(value)) for name, value in step.get("env", {}).items()}
        bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        known = {**self.variables, **given, **files}
        done = subprocess.run(bash, cwd=self.folder, env=known, capture_output=True, text=True, check=False)
        self.text += done.stdout + done.stderr
        if done.returncode:
            self.failed.append((step.get("name"), done.returncode))
        output, variables, paths = (file.read_text().splitlines() for file in files.values())
        self.outputs[step.get("id")] = dict(line.split("=", 1) for line in output)
        self.variables |= dict(line.split("=", 1) for line in variables)
        self.variables["PATH"] = ":".join([*paths, self.variables["PATH"]])

    def _value(self, name):
        if found := re.fullmatch(r"inputs\.([\w-]+)", name):
            return self.inputs[found[1]]
        if found := re.fullmatch(r"steps\.(\w+)\.outputs\.(\w+)", name):
            return self.outputs.get(found[1], {}).get(found[2], "")
        return self.values[name]

    def _filled(self, text):
        return re.sub(r"\$\{\{ (.+?) \}\}", lambda found: self._value(found[1]), text)

    def _holds(self, condition):
        text = condition.removeprefix("${{").removesuffix("}}").strip()
        text = text.replace("!cancelled()", "True").replace("success()", str(not self.failed))
        text = re.sub(r"(inputs|steps)\.[\w.-]+", lambda found: repr(self._value(found[0])), text)
        return eval(text.replace("&&", " and ").replace("||", " or "))


@pytest.mark.nightly
def test_one_job_installs_times_and_shows(repository):
    known = {**variables(), "GITHUB_ACTION_PATH": str(ROOT)}
    job = Job(repository, known, steps=ACTION["runs"]["steps"]).run()
    assert job.failed == [("verdict", 1)], job.text
    assert list(job.uploads) == ["gnnbench-result"]
    result, page = job.uploads["gnnbench-result"]
    found = json.loads(Path(result).read_text())
    assert {name: one["verdict"] for name, one in rows(found).items()} == {
        "benchmarks/test_thing.py::test_sum": "slower",
        "benchmarks/test_thing.py::test_max": "same",
    }
    assert "test_sum" in Path(page).read_text()
    assert "1 of 2 benchmarks" in job.summary.read_text()


def test_a_job_that_can_measure_nothing_fails(repository):
    job = Job(repository, fail_on="always").run()
    assert job.failed[-2:] == [("merge", 2), ("verdict", 2)], job.text


@pytest.mark.nightly
def test_parts_are_merged_by_a_job_that_may_comment(repository):
    parts = repository.parent / "parts"
    for part in ("1", "2"):
        job = Job(repository, shards="2", part=part, fail_on="never").run()
        assert job.failed == [], job.text
        [(name, [file])] = job.uploads.items()
        (parts / name).mkdir(parents=True)
        Path(file).rename(parts / name / "part.json")
    (parts / "gnnbench-part-3").mkdir()  # by measured code
    (parts / "gnnbench-part-3/part.json").write_text("no JSON")
    clean = repository.parent / "clean"
    clean.mkdir()
    github = GitHub(repository.parent / "gh")
    known = variables()
    known["PATH"] = f"{github.folder}:{known['PATH']}"
    inputs = {"results": str(parts), "shards": "2", "pull_request": "7", "token": TOKEN}
    job = Job(clean, known, **inputs).run()
    assert job.failed == [], job.text
    [comment] = github.read()["comments"]
    assert "1 of 2 benchmarks" in comment["body"]
    assert "https://github.com/o/r/actions/runs/3" in comment["body"]
    whole = json.loads(Path(job.uploads["gnnbench-result"][0]).read_text())
    assert whole["shard"] is None
    assert len(rows(whole)) == 2


@pytest.mark.nightly
def test_a_single_part_of_quoted_arguments_is_shown_by_a_later_job(repository):
    """It lies in the folder itself, and a shell would run what one of its arguments has."""
    arguments = "benchmarks -k 'max or nothing' --ignore 'a; touch made; $(touch made)'"
    job = Job(repository, arguments=arguments, show="false", budget="1").run()
    assert job.failed == [], job.text
    assert not (repository / "made").exists()
    [file] = job.uploads["gnnbench-part-1"]
    later = Job(repository, results=str(Path(file).parent)).run()
    assert later.failed == [], later.text
    result, page = later.uploads["gnnbench-result"]
    [found] = rows(json.loads(Path(result).read_text()))
    assert found == "benchmarks/test_thing.py::test_max"
    for file in (Path(page), later.summary):
        assert "runs the same code" in file.read_text()


@pytest.mark.parametrize("action", [f"me/gnnbench@{'1f' * 20}", "/opt/gnnbench"])
def test_the_workflow_of_gnnbench_init_passes_its_schema_and_zizmor(tmp_path, action):
    (tmp_path / "layers.py").write_text("import torch\ndef scaled(x): ...\n")
    text = workflow(Project(tmp_path, ("test_a.py::test_a",)), action)
    assert "TORCH_INDEX:+--index-url" in text
    file = tmp_path / "benchmarks.yml"
    file.write_text(text)
    for tool, *options in (
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows"],
        ["zizmor", "--quiet", "--offline", "--no-progress", "--persona=auditor"],
    ):
        subprocess.run([Path(sys.executable).with_name(tool), *options, file], check=True)
    for name, job in yaml.safe_load(text)["jobs"].items():
        writes = "write" in job["permissions"].values()
        assert writes == (name == "result")
        for step in job["steps"]:
            runs_code = "run" in step or "checkout" in step["uses"] or "cache" in step["uses"]
            assert not (writes and runs_code)
            if "gnnbench" in step.get("uses", ""):
                assert set(step["with"]) <= set(ACTION["inputs"])
                assert writes == bool(step["with"].get("results"))
