"""The plumbing of experiments/gpu, on the CPU and on tiny sizes."""

import json
import sys
from importlib import import_module

import pytest

from tests.suite import ROOT

FOLDER = ROOT / "experiments" / "gpu"


@pytest.fixture
def load(monkeypatch):
    """Return a function that imports a module, as the script sees it."""
    monkeypatch.syspath_prepend(FOLDER)
    before = set(sys.modules)
    yield import_module
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            sys.modules.pop(name)


@pytest.fixture
def gpu(load, monkeypatch, capsys):
    """Return a function that runs the script in this process, and returns the lines that it prints."""
    script = load("gpu")

    def gpu(*words):
        monkeypatch.setattr(sys, "argv", ["gpu.py", *map(str, words)])
        script.main()
        return capsys.readouterr().out.splitlines()

    return gpu


@pytest.mark.nightly
def test_units_run_once_and_what_does_not_fit_is_left_to_the_next_call(load, gpu, monkeypatch, tmp_path):
    folder = tmp_path / "results"
    command = ("run", folder, "--device", "cpu", "--small", "--step", "clocks", "--seconds", "2000")
    clocks, names = load("steps.clocks"), ["launch", "add", "mm"]
    monkeypatch.setattr(clocks, "units", lambda small: {"launch": 15.0, "add": 3e3, "mm": 3e3})  # noqa: ARG005
    assert gpu(*command)[-1] == "2 units are left: the same command goes on"
    assert list(json.loads((folder / "clocks.json").read_text())["units"]) == ["launch"]
    monkeypatch.setattr(clocks, "units", lambda small: dict.fromkeys(names, 15.0))  # noqa: ARG005
    second = gpu(*command)
    assert "clocks launch" not in "\n".join(second)
    assert second[-1] == "all is done"
    assert gpu(*command) == ["all is done"]
    content = json.loads((folder / "clocks.json").read_text())
    assert (content["device"], list(content["units"])) == ("cpu", names)
    assert all(one["result"] and one["seconds"] > 0 for one in content["units"].values())
    tables = "\n".join(gpu("tables", folder))
    assert "| add 64 |" in tables
    assert "An empty launch" in tables

    with pytest.raises(SystemExit, match=r"is of the device cpu: name another folder$"):
        gpu("run", folder, "--step", "clocks")


def test_what_fails_or_takes_too_long_is_kept_and_tried_again_only_when_asked(load, tmp_path):
    plan = load("plan")
    work = plan.Plan(tmp_path, "cpu", small=True)
    results = plan.Results(tmp_path, "clocks", "cpu")
    results.add("wrong", *work.in_a_process("no_such_step", "launch", 600.0))
    results.add("slow", *work.in_a_process("clocks", "launch", 0.01))
    again = plan.Results(tmp_path, "clocks", "cpu")
    assert "invalid choice" in again.line("wrong")
    assert again.line("slow").endswith(" s: stopped after 0 s")
    assert again.done("slow", again=False)
    assert not again.done("slow", again=True)
    assert not again.done("other", again=False)


def test_what_a_machine_with_pytorch_and_pyg_lacks_is_packed_and_nothing_else(load):
    lacking = set(load("packages").lacking())
    assert {"msgspec", "pyelftools", "tomlkit", "ogb", "outdated"} <= lacking
    assert not {"gnnbench", "torch", "torch-geometric", "numpy", "pytest", "dgl"} & lacking
