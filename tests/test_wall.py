"""The walls between engine, suite and applications: contracts that break, and an engine that is alone."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite import ROOT, environment
from tests.variants.repositories import commit_all

PLANTED = {
    "engine.ground.units": "engine.measure.clock",
    "engine.measure.clock": "engine.judge.groups",
    "engine.judge.groups": "engine.store.run_file",
    "engine.store.run_file": "engine.process.held",
    "engine.process.held": "engine.drive.settle",
    "engine.drive.settle": "engine.profile.trace",
    "engine.profile.trace": "engine.show.console",
    "engine.show.console": "engine.plugin.gate",
    "engine.plugin.gate": "engine.cli.main",
    "engine.cli.main": "suite.spec",
    "engine.judge.verdict": "engine.ground.files",
    "engine.drive.runs": "apps.watch.state",
    "suite.spec": "apps.regret.maps",
    "apps.regret.maps": "apps.watch.page",
}
"""Imports that are forbidden, in each direction one: of the second module in the first."""
PARTS = (
    *("compare/bisect", "compare/test_groups.py", "compare/test_runs.py", "compare/test_settle.py"),
    *("results/test_baseline.py", "report/test_markdown.py", "test_units.py"),
)
LIBRARY = "def total(n=300):\n    return sum(range(n))\n"
SUITE = "from library import total\n\ndef test_total(benchmark):\n    assert benchmark(total)\n"
PYTHON = [sys.executable, "-P", "-m"]
GRAPHS = ("torch", "torch_geometric", "torch_scatter", "torch_sparse", "ogb", "dgl")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A folder with the engine and its tests, for PYTHONPATH, without suite, applications and torch."""
    made = tmp_path_factory.mktemp("alone")
    without = shutil.ignore_patterns("__pycache__", "suite", "apps", "workloads")
    for name in ("gnnbench", "tests"):
        shutil.copytree(ROOT / name, made / name, ignore=without)
    shutil.copy(ROOT / "pyproject.toml", made)
    (made / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({GRAPHS}))\n")
    return made


def run(words, folder, path):
    """Run a command with this folder first in the import path."""
    known = environment(PYTHONPATH=str(path))
    return subprocess.run(words, cwd=folder, env=known, capture_output=True, text=True, check=False)


def test_an_import_in_a_forbidden_direction_breaks_a_contract(tmp_path):
    package = shutil.copytree(ROOT / "gnnbench", tmp_path / "gnnbench")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for module, target in PLANTED.items():
        with (package / f"{module.replace('.', '/')}.py").open("a") as file:
            file.write(f"\nimport gnnbench.{target}\n")
    lint = [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"]
    checked = run(lint, tmp_path, tmp_path)
    assert checked.returncode == 1, checked.stdout
    broken = " ".join(checked.stdout.split())
    for module, target in PLANTED.items():
        assert f"gnnbench.{module} -> gnnbench.{target}" in broken


@pytest.mark.nightly
def test_the_engine_s_tests_pass_without_torch_and_without_a_suite(alone):
    files = [f"tests/{part}" for part in PARTS]
    result = run([*PYTHON, "pytest", "-q", "-p", "no:cacheprovider", *files], alone, alone)
    assert result.returncode == 0, result.stdout


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
