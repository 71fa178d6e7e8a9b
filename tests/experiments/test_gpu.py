"""The plumbing of experiments/gpu, on the CPU and on tiny sizes."""

import json
import subprocess
import sys

import pytest

from tests.suite import ROOT, environment

FOLDER = ROOT / "experiments" / "gpu"


def gpu(*arguments):
    words = [sys.executable, str(FOLDER / "gpu.py"), *map(str, arguments)]
    return subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def plan(monkeypatch):
    """The module, as the script sees it."""
    monkeypatch.syspath_prepend(FOLDER)
    import plan

    yield plan
    for name in ("plan", "packages"):
        sys.modules.pop(name)


@pytest.mark.nightly
def test_units_run_once_and_what_does_not_fit_is_left_to_the_next_call(tmp_path):
    folder = tmp_path / "results"
    command = ("run", folder, "--device", "cpu", "--small", "--step", "clocks")
    first = gpu(*command, "--seconds", "39")
    assert first.stdout.splitlines()[-1] == "2 units are left: the same command goes on"
    assert list(json.loads((folder / "clocks.json").read_text())["units"]) == ["launch"]
    second = gpu(*command, "--seconds", "250")
    assert "clocks launch" not in second.stdout
    assert second.stdout.splitlines()[-1] == "all is done"
    content = json.loads((folder / "clocks.json").read_text())
    assert (content["device"], list(content["units"])) == ("cpu", ["launch", "add", "mm"])
    assert all(one["result"] and one["seconds"] > 0 for one in content["units"].values())
    assert gpu(*command).stdout.splitlines() == ["all is done"]

    before = (ROOT / "docs" / "experiments" / "gpu.md").read_text()
    refused = gpu("page", folder)
    assert refused.returncode == 1
    assert "is of the device cpu, and gpu.md is about GPUs" in refused.stderr
    assert gpu("page", folder, "--output", tmp_path / "page.md").returncode == 0
    page = (tmp_path / "page.md").read_text()
    assert page.startswith("## Clocks")
    assert "| add 64 | cold |" in page
    assert "3 of 3 units: `python experiments/gpu/gpu.py run FOLDER --step clocks`" in page
    assert (ROOT / "docs" / "experiments" / "gpu.md").read_text() == before

    other = gpu("run", folder, "--step", "clocks")
    assert other.returncode == 1
    assert other.stderr.strip().endswith("is of the device cpu: name another folder")


def test_what_fails_or_takes_too_long_is_kept_and_tried_again_only_when_asked(plan, tmp_path):
    work = plan.Plan(tmp_path, "cpu", small=True)
    results = plan.Results(tmp_path, "clocks", "cpu")
    results.add("wrong", *work.in_a_process("no_such_step", "launch", 60.0))
    results.add("slow", *work.in_a_process("clocks", "launch", 0.01))
    again = plan.Results(tmp_path, "clocks", "cpu")
    assert "invalid choice" in again.line("wrong")
    assert again.line("slow") == "failed after 0 s: stopped after 0 s"
    assert again.done("slow", again=False)
    assert not again.done("slow", again=True)
    assert not again.done("other", again=False)


def test_every_step_says_what_it_is_and_how_long_it_takes():
    lines = gpu("list").stdout.splitlines()
    assert lines[0].split()[0] == "machine"
    assert len(lines) == len({line.split()[0] for line in lines}) > 10


def test_what_a_machine_with_pytorch_and_pyg_lacks_is_packed_and_nothing_else(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import packages

    lacking = set(packages.lacking())
    sys.modules.pop("packages")
    assert {"jsonschema", "pyelftools", "ruptures", "tomlkit", "ogb", "outdated"} <= lacking
    assert not {"gnnbench", "torch", "torch-geometric", "numpy", "pytest", "dgl"} & lacking
