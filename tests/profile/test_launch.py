"""What the process that profiles selects and loads."""

import json
from pathlib import Path

import pytest

from gnnbench.profile import process
from gnnbench.profile.kinds import KINDS
from gnnbench.profile.launch import _Telling
from tests.profile.subjects import Unheard
from tests.suite import ROOT, environment

PACKAGE = ROOT / "gnnbench"
SUITE = """
import torch


def test_work(benchmark):
    benchmark(torch.mm, torch.ones(4, 4), torch.ones(4, 4))
"""
CONFTEST = """
import json
import sys
from pathlib import Path


def pytest_sessionfinish():
    loaded = {name: module.__file__ for name, module in sys.modules.items() if "gnnbench" in name}
    Path("loaded.json").write_text(json.dumps(loaded))
"""


def test_no_module_of_the_two_versions_stands_for_one_of_the_other(tmp_path, monkeypatch):
    """The side's gnnbench has nothing that this one needs."""
    side = tmp_path / "side"
    (side / "gnnbench").mkdir(parents=True)
    for name in ("__init__", "plugin"):
        (side / "gnnbench" / f"{name}.py").touch()
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    monkeypatch.chdir(tmp_path)
    ((ended,),) = process.run(
        [process.ProfiledSide(trees=[side], environment=environment())],
        process.Wanted(
            ["test_suite.py"], [kind for kind in KINDS if kind != "instructions"], 1, tmp_path / "profiles"
        ),
        Unheard(),
    )
    assert ended.failed is None
    loaded = json.loads((tmp_path / "loaded.json").read_text())
    ours = {name: file for name, file in loaded.items() if name.startswith("gnnbench_coordinator")}
    theirs = {name: file for name, file in loaded.items() if name.partition(".")[0] == "gnnbench"}
    assert {"gnnbench_coordinator.environment", "gnnbench_coordinator.profile.record"} <= set(ours)
    assert {Path(file).is_relative_to(PACKAGE) for file in ours.values()} == {True}
    assert set(theirs) == {"gnnbench", "gnnbench.plugin"}
    assert {Path(file).is_relative_to(side) for file in theirs.values()} == {True}


class Parent(list):
    """Is told what goes on, and lets it go on."""

    send = list.append

    def receive(self):
        return {"goes_on": True}


@pytest.mark.parametrize(
    ("given", "arguments", "expected"),
    [
        ({}, (), ["gat", "gat_cached", "aggregate"]),
        ({"select": "gat"}, (), ["gat"]),
        ({"select": "gat or aggregate"}, (), ["gat", "gat_cached", "aggregate"]),
        ({"select": "gat or aggregate"}, ("-k", "cached"), ["gat_cached"]),
        ({"select": "gat", "only": ["test_suite.py::test_any[aggregate]"]}, (), ["aggregate"]),
    ],
    ids=["all", "operation", "expression", "both expressions", "only"],
)
def test_an_operation_is_meant_before_an_expression(pytester, given, arguments, expected):
    pytester.makepyfile(
        test_suite="import pytest\n\n\n"
        "@pytest.mark.parametrize('operation', ['gat', 'gat_cached', 'aggregate'])\n"
        "def test_any(benchmark, operation):\n    benchmark(int)\n\n\n"
        "def test_plain():\n    pass\n"
    )
    terms = {"select": None, "only": [], "kinds": ["phases"], "repeats": 1, "folder": str(pytester.path)}
    parent = Parent()
    found = pytester.inline_run("--collect-only", *arguments, plugins=[_Telling(parent, {**terms, **given})])
    assert found.ret == 0
    assert parent[0] == {"collected": expected}
