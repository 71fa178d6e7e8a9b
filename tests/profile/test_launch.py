"""What the process that profiles loads: our modules under another name, and the gnnbench of the side."""

import ast
import json
from pathlib import Path

from gnnbench.profile import process
from gnnbench.profile.kinds import KINDS
from tests.profile.subjects import Unheard
from tests.suite import ROOT, environment

PACKAGE = ROOT / "gnnbench"
STARTED = ("profile.launch", "ab.launch", *(f"profile.{name}" for name in ("counts", "nvtx_ranges", *KINDS)))
"""What is run under another name, and what is imported by a name that is put together."""

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


def file_of(name):
    """Return the file of a module of the package, by its name within it; None: there is none."""
    place = PACKAGE.joinpath(*name.split(".")) if name else PACKAGE
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


def imports(name):
    """Yield the modules of the package that a module imports relatively, and what it imports absolutely."""
    file = file_of(name)
    package = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, True) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module, True
        elif isinstance(node, ast.ImportFrom):
            outer = package[: len(package) - node.level + 1]
            base = ".".join(filter(None, (*outer, node.module)))
            yield base, False
            yield from ((".".join(filter(None, (base, alias.name))), False) for alias in node.names)


def test_nothing_that_it_may_load_imports_the_package_by_its_name():
    left, seen, wrong = [name for name in STARTED if file_of(name)], set(), []
    while left:
        name = left.pop()
        if name in seen or file_of(name) is None:
            continue
        seen.add(name)
        for imported, absolute in imports(name):
            if not absolute:
                left.append(imported)
            elif imported.partition(".")[0] == "gnnbench":
                wrong.append(f"{name} imports {imported}")
    assert {"environment", "schema", "fake_clock", "ab.worker", "profile.findings"} <= seen
    assert wrong == []


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
        [process.Side(trees=[side], environment=environment())],
        process.Wanted(["test_suite.py"], tuple(KINDS), 1, tmp_path / "profiles"),
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
