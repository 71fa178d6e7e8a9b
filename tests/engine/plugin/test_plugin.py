import json
import re
import subprocess
import sys

import pytest

from gnnbench.engine.ground import codec
from gnnbench.engine.store.parts import BenchmarkPart, RunPart
from gnnbench.suite.cells import not_installed
from gnnbench.suite.operations import OPERATIONS
from gnnbench.suite.spec import Spec
from tests.runs import ROOT, SHORT, SMALL, environment, pytest_on_cpu, run, run_kernels
from tests.sampling import nightly

ON_ONE_GRAPH = [
    name
    for name, row in OPERATIONS.items()
    if not (row.relational or row.batched or name.startswith("cold"))  # which start processes
]
LOADERS = [name for name in OPERATIONS if "_loader_" in name]
SOME = ["epoch_backward", "neighbor_loader_0_workers", "spmm_sum"]
IN_PLACE = {
    "epoch_backward": "its autograd graph cannot be copied",
    "epoch_sage_batches": "a loader has its graph in a form of its own",
    **dict.fromkeys(LOADERS, "a loader's batches may come from worker processes"),
}


def cells(names):
    """Return operations with each platform that can run them here."""
    return {
        (name, platform)
        for name in names
        for platform in OPERATIONS[name].calls
        if not not_installed(OPERATIONS[name], platform, "cpu")
    }


def unfolded(output):
    return " ".join(output.split())


@pytest.mark.parametrize(
    ("select", "names"),
    [
        pytest.param(f"harness or {' or '.join(f'{name}-' for name in SOME)}", SOME, id="some"),
        nightly(pytest.param("not cold", ON_ONE_GRAPH, id="all")),
    ],
)
def test_each_cell_is_checked_timed_and_saved_or_is_a_skip_that_says_why(tmp_path, select, names):
    saved = tmp_path / "run.json"
    words = ("benchmarks", "--gnn-all", "-k", select, *SMALL, *SHORT, "-rs", f"--benchmark-json={saved}")
    if names is ON_ONE_GRAPH:  # as a user starts it: it sets what OpenMP reads, and imports libraries, itself
        command = pytest_on_cpu(*words)
        result = subprocess.run(
            command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
        )
    else:
        result = run_kernels(*words)
    assert result.returncode == 0, result.stdout
    content = json.loads(saved.read_text())
    specs = [one["extra_info"]["gnnbench"]["spec"] for one in content["benchmarks"]]
    found = {(one["operation"], one["platform"]) for one in specs if one["operation"] in OPERATIONS}
    assert found == cells(names)
    text = unfolded(result.stdout)
    reasons = {reason for name in names for reason in OPERATIONS[name].absent.values()}
    assert [reason for reason in reasons if unfolded(reason) not in text] == []
    codec.decode(content["gnnbench"], RunPart)
    for benchmark in content["benchmarks"]:
        _follows_the_schema_and_has_what_its_kind_has(benchmark)
    _shows_header_progress_and_table(result.stdout, len(content["benchmarks"]))


def _follows_the_schema_and_has_what_its_kind_has(benchmark):
    """Check limit, memory, counters, and that what the suite hands over is of a type that is copied."""
    ours = benchmark["extra_info"]["gnnbench"]
    codec.decode(ours, BenchmarkPart)
    assert benchmark["param"] == Spec(**ours["spec"]).id
    assert ours["graph"]["synthetic"]
    assert "UNSERIALIZABLE" not in json.dumps(benchmark)
    timed = ours["measurement"]
    assert sum(map(len, timed["processes"][0]["blocks_ns"])) == benchmark["stats"]["rounds"]
    operation = ours["spec"]["operation"]
    known = OPERATIONS.get(operation)
    assert timed["not_copied"] == []
    assert (timed["in_place"] or None) == IN_PLACE.get(operation)
    assert ("limit" in ours) == bool(known and known.reads_all)
    assert "counters" not in ours or ours["counters"]["unsteady"] == []
    if not operation.startswith("harness") and not timed["whole_call"]:
        counts = ours["counters"]["counts"]
        # DGL converts formats without any operator of torch.
        assert counts["operators"] or counts["library_calls"]
        assert not counts["operators"] or ours["counters"]["details"]["memory"]["peak_bytes"] > 0


def _shows_header_progress_and_table(out, count):
    assert "OMP_WAIT_POLICY=PASSIVE" in out
    assert re.search(r"gnnbench: cpu, .+ threads on \d+ cores", out)
    assert "torch 2." in out
    # What needs relations is skipped when the graph is there, so it has a line.
    (planned,) = map(int, re.findall(r"^gnnbench: (\d+) benchmarks take about ", out, re.MULTILINE))
    numbers = [int(n) for n in re.findall(rf"^\[ *(\d+)/{planned}\] ", out, re.MULTILINE)]
    assert numbers == list(range(1, planned + 1))
    assert f"{count} benchmarks checked against the reference, {count} timed" in out
    assert re.search(r"^spmm_sum +fwd +pyg +[\d.]+ [mµn]?s +", out, re.MULTILINE)


def test_collecting_is_light_and_core_is_a_few_dozen():
    script = (
        "import sys, pytest\n"
        "words = ['benchmarks', '--collect-only', '-q', '-m', 'core', '-p', 'no:cacheprovider']\n"
        "status = pytest.main(words)\n"
        "heavy = {'torch', 'dgl', 'ogb', 'torch_geometric', 'scipy'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy), int(status))"
    )
    command = [sys.executable, "-c", script]
    found = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True
    ).stdout
    assert "HEAVY [] 0" in found
    assert 12 <= len(re.findall("^benchmarks/", found, re.MULTILINE)) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gnn-counters", "bench"], "unknown value of --gnn-counters 'bench'; known: check, update"),
        (["--gnn-dataset", "citeseer", "--gnn-real"], "citeseer is not in the data folder"),
        (
            ["--benchmark-compare", "--benchmark-compare-fail=mean:5%"],
            (
                "--benchmark-compare-fail works with pytest-benchmark's comparison only, not with "
                "gnnbench's: use --gnn-effect 5%"
            ),
        ),
        (["--benchmark-precision=0.01", "--gnn-layouts=sample"], "selects pytest-benchmark's timing"),
    ],
)
def test_wrong_usage_is_one_line(pytester, arguments, message):
    pytester.mkdir("baselines")
    with pytest.raises(pytest.UsageError, match=f"^gnnbench: .*{re.escape(message)}"):
        pytester.parseconfigure(*arguments)


def test_the_readme_s_kernel_runs_and_is_short(tmp_path):
    code = re.search(r"```python\n(.+?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert code is not None
    assert len(code[1].splitlines()) <= 25
    (tmp_path / "test_mine.py").write_text(code[1])
    result = run_kernels(*SMALL, *SHORT, cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    assert "gnnbench: 2 benchmarks checked against the reference, 2 timed" in result.stdout


def test_a_stranger_s_suite_is_left_alone_also_by_a_data_folder_that_is_gone(tmp_path):
    gone = {"GNNBENCH_DATA": str(tmp_path / "gone")}
    (tmp_path / "test_plain.py").write_text("def test_plain(benchmark):\n    benchmark(sum, range(9))\n")
    result = run(*SHORT, cwd=tmp_path, **gone)
    assert result.returncode == pytest.ExitCode.USAGE_ERROR, "--gnn-device was given"
    assert "ERROR: gnnbench: data folder" in result.stderr
    command = [sys.executable, "-m", "pytest", *SHORT]
    alone = subprocess.run(
        command, cwd=tmp_path, env=environment(**gone), capture_output=True, text=True, check=True
    ).stdout
    assert "benchmark: 1 tests" in alone
    assert "gnnbench:" not in alone


def test_a_mistake_in_the_marker_is_one_line(pytester):
    mistakes = {
        '"spmm_sum", core=True': "operation 'spmm_sum' is gnnbench's own: give yours another name",
        '"mine", platforms=["pgy"]': "operation 'mine': unknown platform 'pgy'",
        '"mine", platfroms=["pyg"]': "unexpected keyword argument 'platfroms'",
    }
    for number, marker in enumerate(mistakes):
        text = f"import pytest\n@pytest.mark.operations({marker})\ndef test_mine(case):\n    pass\n"
        pytester.makepyfile(**{f"test_{number}": text})
    result = pytester.runpytest_inprocess(*SMALL)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    for message in mistakes.values():
        assert sum(message in line for line in result.outlines) == 1
    assert "Traceback" not in str(result.stdout)
    assert str(result.stdout).count("gnnbench: test_mine: ") == len(mistakes)
