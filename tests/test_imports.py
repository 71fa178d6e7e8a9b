"""Inside the package all imports are relative: see docs/architecture.md."""

import ast

import pytest

from tests.suite import ROOT

FILES = sorted((ROOT / "gnnbench").rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_child_that_loads_it_under_another_name_finds_its_own_modules(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level]
    assert not [name for name in names if name.split(".")[0] == "gnnbench"]
