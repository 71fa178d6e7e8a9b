import json
import re

from gnnbench import plugin
from gnnbench.schema import departure
from tests.suite import SHORT, SMALL, run_kernels

OWN = """
import pytest

@pytest.mark.operations("own", directions=["forward", "forward_backward"])
def test_own(case, measure):
    measure(lambda x: 2 * x, case.features(), reference=lambda graph, x: 2 * x)
"""


def test_they_work_in_any_repository(tmp_path):
    """The kernel is checked and timed, and what it does is counted, without a conftest.py."""
    (tmp_path / "test_own.py").write_text(OWN)
    result = run_kernels(*SMALL, *SHORT, "--benchmark-json=run.json", cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    for found in json.loads((tmp_path / "run.json").read_text())["benchmarks"]:
        ours = found["extra_info"]["gnnbench"]
        assert ours["spec"]["operation"] == "own"
        assert ours["counters"]["counts"]["operators"]
        assert ours["counters"]["details"]["memory"]["peak_bytes"] > 0


def test_a_call_that_fails_while_it_is_inspected_is_timed_without_counters(tmp_path):
    call = "def call(x):\n    assert not sys.getprofile()\n    return 2 * x\n"
    own = OWN.replace("import pytest\n", f"import pytest\nimport sys\n\n{call}")
    (tmp_path / "test_own.py").write_text(own.replace("measure(lambda x: 2 * x,", "measure(call,"))
    result = run_kernels(*SMALL, *SHORT, "--benchmark-json=run.json", cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    assert "2 benchmarks checked against the reference, 2 timed" in result.stdout
    for found in json.loads((tmp_path / "run.json").read_text())["benchmarks"]:
        assert sorted(found["extra_info"]["gnnbench"]) == [
            *("code_hash", "definition_hash", "graph", "limit", "measurement", "no_fingerprint"),
            *("resident_growth_bytes", "spec", "version"),
        ]
    strict = run_kernels(*SMALL, *SHORT, "--benchmark-compare", "--gnn-strict", cwd=tmp_path)
    assert strict.returncode == 1
    assert "its operators could not be counted" in strict.stdout


def test_whole_calls_are_checked_and_timed_but_not_counted(tmp_path):
    marked = OWN.replace("@pytest", '@pytest.mark.whole_call("it starts a process")\n@pytest')
    (tmp_path / "test_own.py").write_text(marked)
    result = run_kernels(*SMALL, *SHORT, "--benchmark-json=run.json", "-k", "own-forward-", cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    assert re.search(r"^own +fwd +torch +[\d.]+ [mµ]?s +\S+ +\w+ *$", result.stdout, re.MULTILINE)
    note = "whole calls timed by the wall clock, none counted, no fingerprint: it starts a process"
    assert f"{note}: own fwd torch" in " ".join(result.stdout.split())
    (found,) = json.loads((tmp_path / "run.json").read_text())["benchmarks"]
    assert departure(found["extra_info"]["gnnbench"], "run") is None
    assert "counters" not in found["extra_info"]["gnnbench"]
    counted = run_kernels(*SMALL, "--gnn-counters=update", "-rs", cwd=tmp_path)
    assert "no counters: its calls are timed whole: it starts a process" in " ".join(counted.stdout.split())
    assert counted.returncode == 0, counted.stdout


def test_what_does_not_fit_in_memory_is_skipped_before_its_graph_is_made():
    options = (
        "--gnn-dataset",
        "rmat:30",
        "--gnn-hidden",
        "32",
        "--gnn-all",
        "--gnn-platform",
        "torch",
        "-rs",
    )
    result = run_kernels("benchmarks/test_spmm.py", *options, "-k", "spmm_sum")
    assert result.returncode == 0, result.stdout
    for direction in ("forward", "forward_backward"):
        skipped = (
            rf"spmm_sum {direction} on rmat:30 needs about [\d.]+ TiB of memory, but [\d.]+ [GM]iB is free; "
        )
        assert re.search(
            skipped + "use a smaller scale, or a smaller --gnn-hidden", " ".join(result.stdout.split())
        )


def test_an_operation_without_a_reference_of_its_own_fails_in_a_line(tmp_path):
    (tmp_path / "test_own.py").write_text(OWN.replace(", reference=lambda graph, x: 2 * x", ""))
    result = run_kernels(*SMALL, *SHORT, cwd=tmp_path)
    assert "operation 'own' has no reference: call measure(..., reference=function)" in result.stdout
    assert "Traceback" not in result.stdout
    assert "2 failed" in result.stdout


def test_without_torch_one_line_names_the_extra(pytester, monkeypatch):
    monkeypatch.setattr(plugin, "missing", lambda packages: f"{packages[0]} is missing: pip install it")
    pytester.makepyfile(OWN)
    result = pytester.runpytest_inprocess("-q")
    result.stdout.fnmatch_lines(["gnnbench: torch is missing: pip install it"])
    result.assert_outcomes(errors=1)


def test_a_suite_with_a_fixture_of_the_same_name_keeps_its_own(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def graph():
            return "its own"

        def test_graph(graph):
            assert graph == "its own"
        """
    )
    pytester.runpytest_inprocess("-q").assert_outcomes(passed=1)


def test_a_test_without_the_marker_is_told_of_it(pytester):
    pytester.makepyfile("def test_graph(graph): pass")
    result = pytester.runpytest_inprocess("-q")
    result.stdout.fnmatch_lines(["*gnnbench: the fixtures need a marker: add @pytest.mark.operations(NAME)"])
    result.assert_outcomes(errors=1)


THREADS = """
import pytest
import torch

SESSION = torch.get_num_threads()
SET = {"1_thread": 1, "2_threads": 2, "all_threads": SESSION}


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


def test_threads_are_set_for_the_call_and_the_speed_up_is_shown(tmp_path):
    (tmp_path / "test_own.py").write_text(THREADS)
    options = ("--gnn-all", "--gnn-platform", "torch", *SMALL, *SHORT)
    timed = run_kernels(*options, cwd=tmp_path, OMP_NUM_THREADS="3")
    assert timed.returncode == 0, timed.stdout
    assert re.search(
        r"^speed-up over 1 thread, spmm_sum fwd: torch [\d.]+x with 2, [\d.]+x with all \d$",
        timed.stdout,
        re.MULTILINE,
    )
    for mode in (("--benchmark-disable",), ("--gnn-counters", "update")):
        checked = run_kernels(*options, *mode, cwd=tmp_path)
        assert checked.returncode == 0, checked.stdout
        assert "speed-up" not in checked.stdout
