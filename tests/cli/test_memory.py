"""A copy of the features in a kernel is found by the commands that compare two sides, each with real calls.

The clock is simulated: both sides take the same time.
"""

import json

import pytest

from tests.cli.saved import rows
from tests.run_files import content, entry, fingerprint, save
from tests.suite import gnnbench, run_kernels
from tests.variants.repositories import commit_all, git

LIBRARY = """
import torch


def gather_scatter(x, edges):
    source, target = edges
    return torch.zeros_like(x).index_add_(0, target, x[source])


def scaled(x):
    return 2 * x
"""
SUITE = """
import kernels
import torch

X = torch.ones(4000, 64)
EDGES = torch.arange(8000).remainder(4000).reshape(2, -1)


def test_gather_scatter(benchmark):
    benchmark(kernels.gather_scatter, X, EDGES)


def test_scaled(benchmark):
    benchmark(kernels.scaled, X)
"""
TIMES = {"benchmarks": {"test_gather_scatter": 1e-3, "test_scaled": 1e-3}}
NOISE = {"sigma": 0.01, "drift": 0, "spike_probability": 0, "process_sigma": 0.001}
ID = "benchmarks/test_kernels.py::test_gather_scatter"
FEATURES_BYTES = 4 * 4000 * 64
FOUND = {
    "verdict": "more memory",
    "base_bytes": 2 * FEATURES_BYTES,
    "head_bytes": 3 * FEATURES_BYTES,
    "excused": None,
}
NOTE = "more memory: 2.9 MiB beside the inputs, 2.0 MiB in the base (1.50x)"


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / "benchmarks").mkdir(parents=True)
    (folder / "kernels.py").write_text(LIBRARY)
    (folder / "benchmarks" / "test_kernels.py").write_text(SUITE)
    (folder / "pytest.ini").write_text(
        "[pytest]\naddopts = -p pytest_benchmark.plugin -p gnnbench.engine.plugin\n"
    )
    (folder / "conftest.py").write_text("")
    (folder / ".gitignore").write_text("__pycache__\n")
    (tmp_path / "times.json").write_text(json.dumps({**TIMES, "noise": NOISE}))
    commit_all(folder, "first")
    return folder


def plant(folder):
    text = LIBRARY.replace("    source, target", "    x = x.clone()\n    source, target")
    (folder / "kernels.py").write_text(text)


def variables(folder):
    cache = folder.parent / "cache"
    clock = f"5:{folder.parent / 'times.json'}"
    return {"GNNBENCH_FAKE_CLOCK": clock, "GNNBENCH_CACHE": str(cache), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@pytest.mark.nightly
def test_ab_finds_a_copy_of_the_features_in_its_first_pair_of_processes(project):
    plant(project)
    git(project, "commit", "-qam", "copy")
    words = ("git:HEAD~1", "git:HEAD", "--budget=1", "--json=ab.json", "--", "benchmarks", "-k", "gather")
    result = gnnbench("ab", *words, cwd=project, **variables(project))
    assert result.returncode == 1, result.stderr
    assert "The one benchmark needs more memory; 1 undecided" in result.stdout
    assert NOTE in result.stdout
    ((name, found),) = rows(json.loads((project / "ab.json").read_text())).items()
    assert (name, found["memory"]) == (ID, FOUND)
    assert found["pairs"] <= 1


@pytest.mark.nightly
def test_the_gate_fails_the_test_whose_kernel_copies_the_features(project):
    plant(project)
    options = ("--gnn-layouts=sample", "--benchmark-compare=git:HEAD", "--gnn-budget=1")
    saved = project.parent / "run.json"
    words = ("benchmarks", *options, f"--benchmark-json={saved}")
    result = run_kernels(*words, cwd=project, **variables(project))
    assert result.returncode == 1, result.stdout
    assert "1 failed, 1 passed" in result.stdout
    assert NOTE in result.stdout
    content = json.loads(saved.read_text())
    first, second = content["gnnbench"]["compared"]["comparison"]["rows"]
    assert (first["memory"], second["memory"]) == (FOUND, None)


def run(peak, **more):
    memory = {"allocated_bytes": peak * 2**20, "peak_bytes": peak * 2**20}
    counters = {"counts": {}, "unsteady": [], "details": {"memory": memory}}
    ours = {"definition_hash": "1", "fingerprint": fingerprint(one=2), "counters": counters, **more}
    return content(entry("b", **ours))


@pytest.mark.parametrize(
    ("base", "head", "changes", "said"),
    [
        (2, 3, {}, "needs more memory; "),
        (3, 2, {}, "1 less memory"),
        (2, 3, {"fingerprint": fingerprint(one=1)}, None),
        (2, 3, {"definition_hash": "2"}, None),
    ],
    ids=["more", "less", "same code", "another definition"],
)
def test_peaks_in_run_files_are_compared(tmp_path, in_process, base, head, changes, said):
    older, newer = save(tmp_path, run(base, fingerprint=fingerprint(one=1)), run(head, **changes))
    result = in_process("compare", str(older), "--", str(newer))
    assert (" memory" in result.stdout) == bool(said)
    assert (said or "") in result.stdout
    assert (result.returncode == 1) == (said == "needs more memory; ")
