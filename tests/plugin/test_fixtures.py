import json
import re

import pytest

from gnnbench import codec
from gnnbench.results.parts import BenchmarkPart
from tests.suite import SHORT, SMALL, run_kernels

OWN = """
import pytest
import torch

SESSION = torch.get_num_threads()
SET = {"1_thread": 1, "2_threads": 2, "all_threads": SESSION}


@pytest.mark.operations("own", directions=["forward", "forward_backward"])
def test_own(case, measure):
    measure(lambda x: 2 * x, case.features(), reference=lambda graph, x: 2 * x)


@pytest.mark.whole_call("it starts a process")
@pytest.mark.operations("whole")
def test_whole(case, measure):
    measure(lambda x: 2 * x, case.features(), reference=lambda graph, x: 2 * x)


@pytest.mark.operations("lost")
def test_lost(case, measure):
    measure(lambda x: 2 * x, case.features())


@pytest.mark.operations(*(f"spmm_sum_{name}" for name in SET))
def test_threads(case, kernel, measure):
    seen = set()

    def run(structure, x):
        seen.add(torch.get_num_threads())
        return kernel.run(structure, x)

    measure(run, kernel.build(case), case.features())
    assert seen == {SET[case.spec.operation.removeprefix("spmm_sum_")]}
    assert torch.get_num_threads() == SESSION
"""
OPTIONS = ("--gnn-all", "--gnn-platform", "torch", *SMALL, "-rs")


@pytest.mark.nightly
def test_they_work_in_any_repository(tmp_path):
    """Kernels are checked and timed, and what they do is counted, without a conftest.py."""
    (tmp_path / "test_own.py").write_text(OWN)
    words = (*OPTIONS, *SHORT, "--benchmark-json=run.json")
    result = run_kernels(*words, cwd=tmp_path, OMP_NUM_THREADS="3")
    assert "1 failed, 9 passed" in result.stdout
    assert "operation 'lost' has no reference: call measure(..., reference=function)" in result.stdout
    assert "Traceback" not in result.stdout
    found = {}
    for one in json.loads((tmp_path / "run.json").read_text())["benchmarks"]:
        ours = one["extra_info"]["gnnbench"]
        codec.decode(ours, BenchmarkPart)
        found.setdefault(ours["spec"]["operation"], []).append(ours)
    for ours in found["own"]:
        assert ours["counters"]["counts"]["operators"]
        assert ours["counters"]["details"]["memory"]["peak_bytes"] > 0
    assert (len(found["own"]), len(found["whole"]), "counters" in found["whole"][0]) == (2, 1, False)
    note = "only timed, so ops, peak and sync are empty: it starts a process: whole fwd torch"
    assert note in " ".join(result.stdout.split())
    speed_up = r"^speed-up over 1 thread, spmm_sum fwd: torch [\d.]+x with 2, [\d.]+x with all \d$"
    assert re.search(speed_up, result.stdout, re.MULTILINE)

    counted = run_kernels(*OPTIONS, "--gnn-counters", "update", "-k", "whole or threads", cwd=tmp_path)
    assert counted.returncode == 0, counted.stdout
    assert "no counters: its calls are timed whole: it starts a process" in " ".join(counted.stdout.split())
    assert "6 recorded in " in counted.stdout


def test_what_does_not_fit_in_memory_is_skipped_before_its_graph_is_made(pytester, monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")  # which collecting would set
    suite = "import pytest\n@pytest.mark.operations('spmm_sum')\ndef test_spmm(case): pass\n"
    pytester.makepyfile(suite)
    options = ("--gnn-device=cpu", "--gnn-dataset", "rmat:30", "--gnn-hidden", "32", "--gnn-all", "-rs")
    result = pytester.runpytest_inprocess(*options, "--gnn-platform", "torch")
    result.assert_outcomes(skipped=2)
    text = " ".join(str(result.stdout).split())
    memory = r"on rmat:30 needs about [\d.]+ TiB of memory, but [\d.]+ [GM]iB is free; "
    for direction in ("forward", "forward_backward"):
        needs = f"spmm_sum {direction} {memory}use a smaller scale, or a smaller --gnn-hidden"
        assert re.search(needs, text)


def test_a_graph_that_cannot_be_read_ends_the_session_in_a_line(pytester, monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")  # which collecting would set
    pytester.makepyfile("import pytest\n@pytest.mark.operations('spmm_sum')\ndef test_spmm(case): pass\n")
    file = pytester.makefile(".mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n")
    options = ("--gnn-device=cpu", "--gnn-platform=torch", f"--gnn-dataset={file}")
    result = pytester.runpytest_inprocess(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in str(result.stdout).splitlines() if f"{file.name}: " in line]
    assert "not a readable Matrix Market file" in line


def test_a_suite_s_own_fixture_stays_and_a_test_without_the_marker_is_told_of_it(pytester):
    fixture = "import pytest\n@pytest.fixture\ndef graph(): return 'its own'\n"
    pytester.makepyfile(
        test_none="def test_graph(graph): pass",
        test_own=f"{fixture}def test_graph(graph): assert graph == 'its own'",
    )
    result = pytester.runpytest_inprocess("-q")
    result.stdout.fnmatch_lines(["*gnnbench: the fixtures need a marker: add @pytest.mark.operations(NAME)"])
    result.assert_outcomes(passed=1, errors=1)
