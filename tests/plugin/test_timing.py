"""What a session saves beside its benchmarks."""

import pytest

from gnnbench.measure.sources import Tree
from gnnbench.results import fitness, run_file
from tests.plugin.recorded import Project
from tests.suite import SHORT, run
from tests.variants import repositories

SUITE = """
from inputs import NUMBERS
from kernels import total

def test_total(benchmark):
    benchmark(total, NUMBERS)
"""
FILES = {
    "kernels.py": "total = sum\n",
    "perf/inputs.py": "NUMBERS = [1, 2]\n",
    "perf/conftest.py": "",
    "perf/test_suite.py": SUITE,
}


@pytest.mark.nightly
def test_the_run_file_says_where_the_code_came_from(tmp_path, monkeypatch):
    """The suite has a helper in a folder whose name is not a usual one."""
    repositories.without_settings(monkeypatch)
    project = Project.make(tmp_path / "project", FILES)

    def measured():
        words = ("perf", "--gnn-layouts", "one", f"--benchmark-json={project.saved}", *SHORT)
        result = run(*words, cwd=project.folder)
        assert result.returncode == 0, result.stdout
        assert project.content()["gnnbench"]
        return run_file.read(project.saved)

    commit = project.git("rev-parse", "HEAD")
    assert measured().sources.trees == (Tree(".", commit, 0, ("kernels",), compiled=False),)
    project.edit("sum", "max", "kernels.py")
    assert fitness.unlike([measured()]) == "tracked files of this project have uncommitted changes"
