"""What a session saves beside its benchmarks."""

import json

import pytest

from gnnbench import schema
from gnnbench.measure.sources import Tree
from gnnbench.results import fitness, run_file
from tests.suite import SHORT, run
from tests.variants import repositories
from tests.variants.repositories import git

SUITE = """
from inputs import NUMBERS
from kernels import total

def test_total(benchmark):
    benchmark(total, NUMBERS)
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository with a package, and a suite with a helper in a folder whose name is not a usual one."""
    repositories.without_settings(monkeypatch)
    files = {
        "pytest.ini": "[pytest]\n",
        "kernels.py": "total = sum\n",
        "perf/inputs.py": "NUMBERS = [1, 2]\n",
        "perf/conftest.py": "",
        "perf/test_suite.py": SUITE,
    }
    for name, text in files.items():
        file = tmp_path / "project" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    git(tmp_path / "project", "init", "-q")
    git(tmp_path / "project", "add", ".")
    git(tmp_path / "project", "commit", "-q", "-m", "all")
    return tmp_path / "project"


def test_the_run_file_says_where_the_code_came_from(project, tmp_path):
    saved = tmp_path / "run.json"

    def measured():
        result = run("perf", "--gnn-layouts", "one", f"--benchmark-json={saved}", *SHORT, cwd=project)
        assert result.returncode == 0, result.stdout
        return run_file.read(saved)

    found = measured()
    commit = git(project, "rev-parse", "HEAD")
    assert found.sources.trees == (Tree(".", commit, 0, ("kernels",), compiled=False),)
    assert schema.departure(json.loads(saved.read_text())["gnnbench"], "run", "file") is None
    (project / "kernels.py").write_text("total = max\n")
    assert fitness.unlike([measured()]) == "tracked files of this project have uncommitted changes"
