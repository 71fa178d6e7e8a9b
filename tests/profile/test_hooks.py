import json
import pstats
import re

import pytest
import torch

from gnnbench.engine.ground.options import PROFILE_KINDS
from gnnbench.engine.profile import record
from gnnbench.engine.profile.hooks import device_of
from gnnbench.suite.operations import OPERATIONS
from tests.sampling import nightly
from tests.suite import SMALL, run_kernels

EPOCH = "benchmarks/test_epoch.py::test_epoch"
TOGETHER = tuple(name for name in PROFILE_KINDS if name != "instructions")
ON_CPU = tuple(name for name in TOGETHER if name != "kernels")

SUITE = """
import functools
import torch


def test_matmul(benchmark):
    found = benchmark(torch.mm, torch.ones(4, 4), torch.ones(4, 4))
    assert found.sum() == 64


def test_pedantic(benchmark):
    made, given_back = [], []

    def setup():
        made.append(torch.ones(3).cumsum(0))
        return (made[-1],), {}

    def teardown(one):
        given_back.append(one.sort().values)

    assert benchmark.pedantic(torch.sum, setup=setup, teardown=teardown, rounds=2) == 6
    assert len(made) == len(given_back) > 3


def test_raises(benchmark):
    calls = []

    def work(x):
        calls.append(x)
        if len(calls) == 3:
            raise ValueError("the third call")

    benchmark(work, torch.ones(1))


def test_plain():
    pass
"""


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    return tmp_path


def profile(folder, *arguments, **variables):
    return run_kernels(*arguments, "--gnn-profile-folder", str(folder), **variables)


def folders(folder):
    return sorted(path.parent for path in folder.glob("*/*/profile.json"))


EACH = set(OPERATIONS["epoch"].calls)


@pytest.mark.parametrize("platforms", [{"pyg", "torch"}, nightly(pytest.param(EACH))])
def test_every_kind_on_every_platform_leaves_a_record_and_files_for_their_own_readers(tmp_path, platforms):
    """One run: it takes as long as eight others."""
    folder = tmp_path / "profiles"
    chosen = ("-k", " or ".join(platforms))
    result = profile(folder, EPOCH, *chosen, *SMALL, "--gnn-profile", ",".join(TOGETHER), "--gnn-epochs", "2")
    assert result.returncode == 0, result.stdout
    records = [record.read(path) for path in folders(folder)]
    assert {found.labels.platform for found in records} == platforms
    for found in records:
        assert set(found.sections) == {*ON_CPU, "counts"}
        assert "CUDA" in found.unavailable["kernels"]
        assert found.repeats == 2
        assert found.id == found.labels.id
        assert dict(found.environment["libraries"])["torch"]
    for path in folders(folder):
        assert pstats.Stats(str(path / "functions.prof")).total_calls > 0
        events = json.loads((path / "trace.json").read_text())["traceEvents"]
        assert any(event.get("name") == "forward" for event in events)
        assert len(list((path / "tensorboard").glob("*.pt.trace.json"))) == 1
    lines = result.stdout.splitlines()
    assert f"gnnbench: {len(platforms)} profiles in {folder}:" in lines
    assert "  epoch-train-pyg-float32-int64-rmat_5-8-cpu/0001" in lines
    line = rf"^\[1/{len(platforms)}\] epoch train +pyg +phases, layers, functions, "
    assert re.search(line, result.stdout, re.MULTILINE)
    assert sum("'kernels' needs CUDA" in line for line in lines) == 1, "once, not for each benchmark"
    assert f"{len(platforms)} benchmarks checked against the reference, none timed" in result.stdout


def test_what_is_wrong_is_a_failed_test_and_no_profile(pytester, monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")  # which collecting would set
    pytester.makepyfile(
        "import pytest\n"
        "@pytest.mark.operations('twice')\n"
        "def test_twice(case, measure):\n"
        "    measure(lambda x: 3 * x, case.features(), reference=lambda graph, x: 2 * x)\n"
    )
    found = pytester.runpytest_inprocess(*SMALL, "--gnn-device=cpu", "--gnn-profile=phases")
    found.assert_outcomes(failed=1)
    assert "output is wrong" in str(found.stdout)
    assert not list(pytester.path.rglob("profile.json"))


def test_any_suite_is_profiled_and_gets_its_results_and_errors(tmp_path, suite):
    kinds = "functions,trace,kernels"
    found = profile(tmp_path / "p", "--gnn-profile", kinds, "--gnn-epochs=3", cwd=suite)
    assert found.returncode == 1, found.stdout
    assert "ValueError: the third call" in found.stdout
    assert "1 failed, 3 passed" in found.stdout
    assert len(list((tmp_path / "p").iterdir())) == 2
    records = {one.id: one for one in map(record.read, folders(tmp_path / "p"))}
    assert set(records) == {"test_suite.py::test_matmul", "test_suite.py::test_pedantic"}
    assert all(one.spec is None for one in records.values())
    counted = records["test_suite.py::test_matmul"].sections["counts"]["operators"]
    assert [(row["name"], row["count"]) for row in counted] == [("aten::mm", 1)]
    pedantic = records["test_suite.py::test_pedantic"].sections
    assert [(row["name"], row["count"]) for row in pedantic["counts"]["operators"]] == [("aten::sum", 1)]
    assert not re.search("setup|teardown|cumsum|sort", json.dumps(pedantic["functions"]))


def test_a_benchmark_that_hides_its_tensors_works_on_the_gpu_if_one_is_in_use(monkeypatch):
    hidden, shown = (torch.nn.Identity().eval, (), {}), (torch.sum, (torch.ones(1),), {})
    assert (device_of(hidden), device_of(shown)) == ("cpu", "cpu")
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    assert (device_of(hidden), device_of(shown)) == ("cuda", "cpu")
