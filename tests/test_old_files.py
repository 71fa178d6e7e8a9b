"""Today's readers on files that an earlier commit wrote, see data/README.md."""

import math
import shutil
from pathlib import Path

import pytest

from gnnbench.cli import main
from gnnbench.compare import result
from gnnbench.profile import record
from gnnbench.results import counter_baseline, fitness, run_file
from gnnbench.results.baseline import RecordStore

DATA = Path(__file__).with_name("data") / "5603223"
LOOPS = "add_remaining_self_loops-forward-pyg-float32-int64-cora-256-cpu"
SELF_LOOPS = f"test_self_loops.py::test_self_loops[{LOOPS}]"
PRODUCT, SUM = "test_suite.py::test_product", "test_suite.py::test_sum"
ENVIRONMENT = "amd-epyc_torch-2.13.0_935944d6"


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """The folder in which the files were written."""
    folder = tmp_path / "suite"
    shutil.copytree(DATA, folder)
    (folder / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GNNBENCH_CACHE", str(folder))
    return folder


def ran(capsys, *arguments):
    status = main.main([*map(str, arguments)])
    return status, capsys.readouterr().out


def microseconds(process):
    return math.exp(process.log) / 1e3


def test_a_run_file():
    run = run_file.read(DATA / "run.json")
    assert list(run.benchmarks)[2:] == [PRODUCT, SUM]
    loops, product = run.benchmarks[SELF_LOOPS], run.benchmarks[PRODUCT]
    assert loops.spec.operation == "add_remaining_self_loops"
    assert loops.part.counters.counts["operators"]["aten::select"] == 3
    assert loops.estimand == "first decile of block medians, clock perf_counter, layouts sampled"
    times = [microseconds(one.processes[0]) for one in (loops, product)]
    assert times == pytest.approx([295.032, 8.149], abs=1e-3)
    assert loops.processes[0].is_evidence
    assert not product.processes[0].is_evidence  # that commit did not look at less than a quarter of a second


@pytest.mark.usefixtures("suite")
def test_a_record(capsys):
    (old,) = RecordStore(Path("baselines/timings")).records()
    assert (old.environment, old.id, old.name, len(old.files)) == (ENVIRONMENT, "0001", "old", 2)
    fitness.verify(old)
    times = [microseconds(one.benchmarks[SUM].processes[0]) for one in old.read()]
    assert times == pytest.approx([2.052, 2.021], abs=1e-3)
    assert ran(capsys, "baseline", "verify") == (0, f"{ENVIRONMENT} 0001: 2 processes, complete and valid\n")
    assert "first record" in ran(capsys, "baseline", "list")[1]
    shown = ran(capsys, "baseline", "show", "--environment", ENVIRONMENT)[1]
    assert "\ntest_suite.py::\n" in shown
    assert "\ntest_product " in shown


def test_a_record_and_a_run_are_compared(suite, capsys):
    files = sorted(suite.glob("baselines/timings/*/*/*.json"))
    assert ran(capsys, "compare", "--json", "result.json", *files, "--", "run.json")[0] == 0
    found = {row.fullname: row.judgement for row in result.read(Path("result.json")).comparison.rows}
    assert found[SELF_LOOPS].verdict == "undecided"
    now, *before = [
        run_file.read(file).benchmarks[SELF_LOOPS].processes[0].log for file in (Path("run.json"), *files)
    ]
    assert math.log(found[SELF_LOOPS].ratio) == pytest.approx(now - sum(before) / len(before))
    assert found[PRODUCT].reason.startswith("CPU time of other programs was not recorded")
    for old in ("run.json", files[0]):  # which is not slower than itself
        shutil.copy(old, "again.json")
        status, out = ran(capsys, "compare", old, "--", "again.json")
        assert status == 3
        assert "one process on each side" in out


def test_a_page(suite, capsys):
    files = sorted(suite.glob("baselines/timings/*/*/*.json"))
    assert ran(capsys, "report", "run.json", *files, "-o", "page.html")[0] == 0


@pytest.mark.usefixtures("suite")
def test_a_result_of_ab(capsys):
    found = result.read(DATA / "ab.json")
    assert (found.base.title, found.head.title) == (
        "env:ATEN_CPU_CAPABILITY=avx2 (4847ab0e)",
        "env:ATEN_CPU_CAPABILITY=default (4847ab0e)",
    )
    judgements = {row.fullname: row.judgement for row in found.comparison.rows}
    assert {name: one.verdict for name, one in judgements.items()} == {
        SELF_LOOPS: "undecided",
        PRODUCT: "same",
        SUM: "slower",
    }
    assert judgements[SUM].ratio == pytest.approx(1.467, abs=1e-3)
    assert ran(capsys, "report", "ab.json", "-o", "page.html")[1].startswith(
        "1 of 3 benchmarks is slower: test_sum is 1.47x slower"
    )
    assert "| 1.47x | 1.40‑1.54 |" in ran(capsys, "comment", "ab.json")[1]
    assert ran(capsys, "merge", "ab.json", "-o", "merged.json")[0] == 0


def test_a_profile():
    found = record.read(DATA / "profile")
    assert found.id == LOOPS
    assert found.spec.operation == "add_remaining_self_loops"
    (finding,) = found.findings
    assert finding.rule == "host-reads"
    assert finding.text.startswith("The host reads tensors 4 times")
    whole, loops = found.sections["ranges"]["rows"]
    assert (whole["path"], loops["path"]) == (["call"], ["call", "add_remaining_self_loops"])


def test_a_baseline_of_counters():
    (file,) = DATA.glob("baselines/counters/*.json")
    counts = counter_baseline.read(file)[LOOPS]
    assert counts["operators"]["aten::select"] == 3
    changed = {**counts, "operators": {**counts["operators"], "aten::select": 5}}
    assert list(map(str, counter_baseline.changed(counts, changed, ()))) == ["+2 aten::select"]
