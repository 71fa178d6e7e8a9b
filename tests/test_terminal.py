import re
from pathlib import Path

import pytest

from tests.suite import SHORT, SMALL, run

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
def mixed_run(request: pytest.FixtureRequest, project: Path):
    (project / "test_own.py").write_text(OWN)
    return request.param, run(*SMALL, *SHORT, *request.param, cwd=project)


def test_own_parameters_plain_tests_and_failures_are_reported_in_every_mode(mixed_run):
    options, result = mixed_run
    assert result.returncode == pytest.ExitCode.TESTS_FAILED, result.stdout + result.stderr
    assert "INTERNALERROR" not in result.stdout + result.stderr
    timed = "none" if "-n" in options else "2"
    assert f"gnnbench: 2 workloads checked against the reference, {timed} timed" in result.stdout
    assert "gnnbench: synthetic data: rmat:5" in result.stdout
    assert "ZeroDivisionError" in result.stdout
    assert re.search(r"1 failed, 4 passed", result.stdout)


def test_a_failure_stands_in_its_line_of_progress(project):
    (project / "test_own.py").write_text(OWN)
    out = run(*SMALL, *SHORT, cwd=project).stdout
    assert re.search(r"^\[4/4\] broken +fwd +torch +FAILED$", out, re.MULTILINE)
    assert re.search(r"^\[3/4\] nothing +fwd +torch +PASSED$", out, re.MULTILINE)
    assert "benchmark: 1 tests" in out, "pytest-benchmark's table is needed for the plain benchmark"


@pytest.mark.parametrize("option", ["--benchmark-group-by=param:platform", "--benchmark-sort=name"])
def test_pytest_benchmark_s_table_is_shown_where_an_option_is_about_it(project, option):
    (project / "test_own.py").write_text(OWN.partition("def test_plain")[0])
    assert "benchmark 'scale" not in run(*SMALL, *SHORT, "-k", "scale", cwd=project).stdout
    asked = run(*SMALL, *SHORT, "-k", "scale", cwd=project, PYTEST_ADDOPTS=option).stdout
    assert "Name (time in" in asked


def test_a_parallel_run_says_on_what_it_ran_and_which_data_it_used(tmp_path):
    only = ("--gnn-dataset", "cora", "--gnn-hidden", "4", "-k", "spmm_sum and torch", "-n", "2")
    out = run("benchmarks", *only, GNNBENCH_CACHE=str(tmp_path)).stdout
    assert "OMP_WAIT_POLICY=PASSIVE" in out
    assert "using its synthetic twin cora:synthetic" in out


def test_expected_failures_and_brackets_are_shown_as_they_are(project):
    marked = '@pytest.mark.xfail(reason="known")\n@pytest.mark.operations("broken")'
    (project / "test_own.py").write_text(OWN.replace('@pytest.mark.operations("broken")', marked))
    (project / "a[b].mtx").write_text("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n")
    out = run("--gnn-dataset", "a[b].mtx", *SHORT, cwd=project).stdout
    assert "XFAIL" in out
    assert "1 xfailed" in out
    assert out.count("a[b].mtx · hidden 128") == 2
