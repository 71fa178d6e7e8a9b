"""The engine alone, without suite, applications and torch."""

import shutil
import subprocess
import sys

import pytest

from tests.suite import ROOT, environment
from tests.variants.repositories import commit_all

LIBRARY = "def total(n=300):\n    return sum(range(n))\n"
SUITE = "from library import total\n\ndef test_total(benchmark):\n    assert benchmark(total)\n"
PYTHON = [sys.executable, "-P", "-m"]
GRAPHS = ("torch", "torch_geometric", "torch_scatter", "torch_sparse", "ogb", "dgl")


@pytest.fixture
def alone(tmp_path_factory):
    """A folder with the engine, for PYTHONPATH, without suite, applications and torch."""
    made = tmp_path_factory.mktemp("alone")
    without = shutil.ignore_patterns("__pycache__", "suite", "apps")
    shutil.copytree(ROOT / "gnnbench", made / "gnnbench", ignore=without)
    (made / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({GRAPHS}))\n")
    return made


def run(words, folder, path):
    known = environment(PYTHONPATH=str(path))
    return subprocess.run(words, cwd=folder, env=known, capture_output=True, text=True, check=False)


@pytest.mark.nightly
def test_a_stranger_s_suite_is_compared_by_the_engine_alone(alone, tmp_path):
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench/test_total.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    for number, factor in enumerate((1, 1, 9)):
        (tmp_path / "library.py").write_text(LIBRARY.replace("(n)", f"(n * {factor})") + f"# {number}\n")
        commit_all(tmp_path, f"times {factor}")

    def gnnbench(code, *words):
        result = run([*PYTHON, "gnnbench", *words], tmp_path, alone)
        assert result.returncode == code, result.stdout + result.stderr
        return result.stdout

    assert "slower" in gnnbench(1, "ab", "git:HEAD~1", ".", "--json", "ab.json", "--", "bench")
    gnnbench(0, "report", "ab.json", "-o", "page.html")
    found = gnnbench(1, "bisect", "git:HEAD~2", "git:HEAD", "--", "bench")
    assert "times 9" in found
    pytest = [*PYTHON, "pytest", "bench"]
    for name in ("a", "b"):
        assert not run([*pytest, f"--benchmark-json={name}.json"], tmp_path, alone).returncode
    assert "test_total" in gnnbench(3, "compare", "a.json", "--", "b.json")
    gate = run([*pytest, "--benchmark-compare=git:HEAD~1"], tmp_path, alone)
    assert gate.returncode == 1
    assert "test_total" in gate.stdout
    assert "slower" in gate.stdout
