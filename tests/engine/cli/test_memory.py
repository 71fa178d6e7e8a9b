"""A copy of the features in a kernel is found: by `ab` with real calls, and in run files."""

import json

import pytest

from tests.engine.cli.saved import rows
from tests.engine.process.variants.repositories import commit_all
from tests.engine.process.workers import machine, write
from tests.run_files import content, entry, fingerprint, save
from tests.runs import gnnbench

LIBRARY = """
import torch

def gather_scatter(x, edges):
    source, target = edges
    return torch.zeros_like(x).index_add_(0, target, x[source])
"""
SUITE = """
import kernels
import torch

X = torch.ones(4000, 64)
EDGES = torch.arange(8000).remainder(4000).reshape(2, -1)

def test_gather_scatter(benchmark):
    benchmark(kernels.gather_scatter, X, EDGES)
"""


@pytest.mark.nightly
def test_ab_finds_a_copy_of_the_features_in_its_first_pair_of_processes(tmp_path):
    """The clock is simulated: both sides take the same time."""
    write(tmp_path, SUITE)
    for text in (LIBRARY, LIBRARY.replace("x[source]", "x.clone()[source]")):
        (tmp_path / "kernels.py").write_text(text)
        commit_all(tmp_path)
    clock = machine(tmp_path / "times.json", {"test_gather_scatter": 1e-3}, sigma=0.01, process_sigma=0.001)
    words = ("git:HEAD~1", "git:HEAD", "--budget=1", "--json=ab.json", "--", "test_suite.py")
    variables = {"GNNBENCH_FAKE_CLOCK": clock, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    result = gnnbench("ab", *words, cwd=tmp_path, **variables)
    assert result.returncode == 1, result.stderr
    assert "The one benchmark needs more memory; 1 undecided" in result.stdout
    assert "more memory: 2.9 MiB excluding inputs, 2.0 MiB in the base (1.50x)" in result.stdout
    (found,) = rows(json.loads((tmp_path / "ab.json").read_text())).values()
    features = 4 * 4000 * 64
    assert found["memory"] == {
        "verdict": "more memory",
        "base_bytes": 2 * features,
        "head_bytes": 3 * features,
        "excused": None,
    }
    assert found["pairs"] <= 1


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
