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
