"""A pull request, judged as in .github/workflows/gpu-bench.yml: five products by 1 in PyG's gcn_norm."""

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plan import ROOT

from steps import identical

_FILE = Path("gnnbench", "suite", "operations", "gcn_norm.py")
_BEFORE = "gcn_conv.gcn_norm(graph.edge_index, weight, graph.num_nodes)"
_AFTER = "gcn_conv.gcn_norm(graph.edge_index, weight * 1 * 1 * 1 * 1 * 1, graph.num_nodes)"
_LEFT_OUT = (".git", ".venv", ".benchmarks", ".cache", "__pycache__", "site", "dist")


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return the only unit."""
    return {"head": 200.0}


def run(unit: str, plan: Any) -> dict[str, Any]:  # noqa: ARG001
    """Commit the change on top of this tree, and compare the two commits."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = repository(Path(scratch))
        source = (tree / _FILE).read_text(encoding="utf-8")
        (tree / _FILE).write_text(source.replace(_BEFORE, _AFTER), encoding="utf-8")
        _commit(tree, "head")
        budget = ("--total-budget", 40 if plan.small else 180)
        return identical.compared(plan, "git:HEAD^", "git:HEAD", *budget, tree=tree)


def repository(scratch: Path) -> Path:
    """Return a new git repository with one commit: a copy of this tree, which may not be a repository."""
    tree = scratch / "repository"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    _git(tree, "init", "--quiet")
    _commit(tree, "base")
    return tree


def _commit(tree: Path, message: str) -> None:
    author = ("-c", "user.name=gnnbench", "-c", "user.email=gnnbench@example.org")
    _git(tree, "add", "--all")
    _git(tree, *author, "commit", "--quiet", "--message", message)


def _git(tree: Path, *words: str) -> None:
    command = ["git", *words]
    subprocess.run(command, cwd=tree, check=True)


def table(found: Mapping[str, Any]) -> str:
    """Return a table of all verdicts."""
    return identical.table(found)
