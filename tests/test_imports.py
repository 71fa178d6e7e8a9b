"""Inside the package all imports are relative: see docs/architecture.md."""

import ast

from tests.runs import ROOT


def test_a_child_that_loads_it_under_another_name_finds_its_own_modules():
    for path in (ROOT / "gnnbench").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "import gnnbench" in text or "from gnnbench" in text:  # in code, or in a docstring
            nodes = list(ast.walk(ast.parse(text)))
            names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
            names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
            assert not [name for name in names if name.split(".")[0] == "gnnbench"], path
