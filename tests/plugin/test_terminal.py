import json
import re
from pathlib import Path

import pytest

from tests.suite import SHORT, SMALL, run_kernels

OWN = """
import pytest

@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.operations("scale")
def test_measured(case, measure, power):
    measure(lambda x: x**power, case.features(), reference=lambda graph, x: x**power)

@pytest.mark.operations("nothing")
def test_not_measured(case):
    assert case.features().shape == (case.graph.num_nodes, case.spec.hidden)

@pytest.mark.operations("broken")
def test_broken(case, measure):
    measure(lambda x: 1 / 0, case.features(), reference=lambda graph, x: x)

def test_plain(benchmark):
    benchmark(sum, range(9))
"""


@pytest.fixture(params=[["-p", "no:xdist"], ["-n", "2"], ["-v"], ["-q"]], ids=" ".join)
def mixed_run(request: pytest.FixtureRequest, tmp_path: Path):
    (tmp_path / "test_own.py").write_text(OWN)
    return request.param, run_kernels(*SMALL, *SHORT, *request.param, cwd=tmp_path)


def test_own_parameters_plain_tests_and_failures_are_reported_in_every_mode(mixed_run):
    options, result = mixed_run
    assert result.returncode == pytest.ExitCode.TESTS_FAILED, result.stdout + result.stderr
    assert "INTERNALERROR" not in result.stdout + result.stderr
    timed = "none" if "-n" in options else "2"
    assert f"gnnbench: 2 benchmarks checked against the reference, {timed} timed" in result.stdout
    assert "gnnbench: synthetic data: rmat:5" in result.stdout
    assert "ZeroDivisionError" in result.stdout
    assert re.search(r"1 failed, 4 passed", result.stdout)


def test_a_failure_stands_in_its_line_of_progress(tmp_path):
    (tmp_path / "test_own.py").write_text(OWN)
    out = run_kernels(*SMALL, *SHORT, cwd=tmp_path).stdout
    assert re.search(r"^\[4/4\] broken +fwd +torch +FAILED$", out, re.MULTILINE)
    assert re.search(r"^\[3/4\] nothing +fwd +torch +PASSED$", out, re.MULTILINE)
    assert "benchmark: 1 tests" in out, "pytest-benchmark's table is needed for the plain benchmark"


@pytest.mark.parametrize("option", ["--benchmark-group-by=param:platform", "--benchmark-sort=name"])
def test_pytest_benchmark_s_table_is_shown_where_an_option_is_about_it(tmp_path, option):
    (tmp_path / "test_own.py").write_text(OWN.partition("def test_plain")[0])
    assert "benchmark 'scale" not in run_kernels(*SMALL, *SHORT, "-k", "scale", cwd=tmp_path).stdout
    asked = run_kernels(*SMALL, *SHORT, "-k", "scale", cwd=tmp_path, PYTEST_ADDOPTS=option).stdout
    assert "Name (time in" in asked


def test_a_parallel_run_says_on_what_it_ran_and_which_data_it_used(tmp_path):
    only = ("--gnn-dataset", "cora", "--gnn-hidden", "4", "-k", "spmm_sum and torch", "-n", "2")
    out = run_kernels("benchmarks", *only, GNNBENCH_CACHE=str(tmp_path)).stdout
    assert "OMP_WAIT_POLICY=PASSIVE" in out
    assert "using its synthetic stand-in cora:synthetic" in out


def test_expected_failures_and_brackets_are_shown_as_they_are(tmp_path):
    marked = '@pytest.mark.xfail(reason="known")\n@pytest.mark.operations("broken")'
    (tmp_path / "test_own.py").write_text(OWN.replace('@pytest.mark.operations("broken")', marked))
    matrix = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"
    (tmp_path / "a[b].mtx").write_text(matrix)
    out = run_kernels("--gnn-dataset", "a[b].mtx", *SHORT, cwd=tmp_path).stdout
    assert "XFAIL" in out
    assert "1 xfailed" in out
    assert out.count("a[b].mtx · hidden 128") == 2


def test_running_out_of_memory_is_a_result(tmp_path):
    huge = """
import pytest

@pytest.mark.operations("huge")
def test_huge(case, measure):
    import torch
    measure(lambda x: torch.empty(2**50), case.features(), reference=lambda graph, x: x)

@pytest.mark.operations("huge_to_build")
def test_huge_to_build(case, measure):
    import torch
    torch.empty(2**50)
"""
    (tmp_path / "test_own.py").write_text(huge + OWN.partition('@pytest.mark.operations("broken')[0])
    file = tmp_path / "run.json"
    result = run_kernels(*SMALL, *SHORT, f"--benchmark-json={file}", cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    assert re.search(r"huge +fwd +torch +OOM at 4194304 GiB", result.stdout)
    assert result.stdout.count("OOM at 4194304 GiB") == 4
    content = json.loads(file.read_text())
    assert [entry["error"] for entry in content["gnnbench"]["incomplete"]] == ["OOM at 4194304 GiB"] * 2
    assert {entry["extra_info"]["gnnbench"]["spec"]["operation"] for entry in content["benchmarks"]} == {
        "scale"
    }


def test_the_table_has_what_was_measured_and_notes_what_must_be_known(tmp_path):
    own = """
import pytest

@pytest.mark.operations("writes")
def test_writes(case, measure):
    def add(x):
        x.mul_(1)
        return x
    measure(add, case.features(), reference=lambda graph, x: x)

@pytest.mark.in_place("it must")
@pytest.mark.operations("stays")
def test_stays(case, measure):
    measure(lambda x: x * 1, case.features(), reference=lambda graph, x: x)
"""
    (tmp_path / "test_own.py").write_text(own)
    out = run_kernels(*SMALL, "--benchmark-max-time=0.05", cwd=tmp_path).stdout
    assert re.search(r"^operation +dir on +time +± +stop +limit +peak +ops +sync$", out, re.MULTILINE), out
    assert re.search(
        r"^stays +fwd torch +[\d.]+ µs +(\?|[\d.]+%) (time|prec) +1\.0 KiB +1 +0$", out, re.MULTILINE
    ), out
    assert "inputs not copied to new memory, it must: stays fwd torch" in out
    assert "writes to its inputs, so rounds have different inputs: writes fwd torch" in out
