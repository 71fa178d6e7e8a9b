import io
import json
import re

import pytest
from _pytest.terminal import TerminalReporter

from gnnbench.engine.measure.measurement import Measurement
from gnnbench.engine.plugin.limits import GATE
from gnnbench.engine.plugin.terminal import PROGRESS, FailureText, fail, shorten_table
from gnnbench.engine.show.lines import Note
from gnnbench.engine.store.parts import FORMAT_VERSION, BenchmarkPart
from gnnbench.suite.plugin import terminal
from gnnbench.suite.plugin.progress import SessionProgress
from gnnbench.suite.spec import Spec
from tests import terminal as screens
from tests.engine.plugin.recorded import collected
from tests.runs import SMALL, environment, pytest_on_cpu, run_kernels

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
OURS = """
@pytest.mark.operations("spmm_sum", "spmm_mean")
def test_ours(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.features())
"""
MORE = """
import torch

def same(name, call, *marks):
    @pytest.mark.operations(name)
    def test(case, measure):
        measure(call, case.features(), reference=lambda graph, x: x)
    for mark in marks:
        test = mark(test)
    return test

test_known = same("known", lambda x: 1 / 0, pytest.mark.xfail(reason="known"))
test_huge = same("huge", lambda x: torch.empty(2**50))
test_writes = same("writes", lambda x: x.mul_(1))
test_stays = same("stays", lambda x: x * 1, pytest.mark.in_place("it must"))

@pytest.mark.operations("lazy_sum")
def test_lazy(case, measure, reference):
    measure(lambda edge_index, x: x, case.edge_index(), case.features(), reference=reference.spmm_sum)

@pytest.mark.operations("lost")
def test_lost(case, measure):
    measure(lambda x: x, case.features())

@pytest.mark.operations("huge_to_build")
def test_huge_to_build(case, measure):
    torch.empty(2**50)
"""
TIME = ("--benchmark-max-time", "0.02", "--benchmark-min-rounds", "60")


def test_each_result_stands_in_its_line_of_progress_and_the_table_notes_what_must_be_known(tmp_path):
    (tmp_path / "test_own.py").write_text(OWN + MORE)
    matrix = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"
    (tmp_path / "a[b].mtx").write_text(matrix)
    (tmp_path / "gnnbench.toml").write_text("[[rules]]\nbenchmarks = '*[scale-*-2]'\nmax_time = '1 ns'\n")
    words = ("--gnn-dataset", "a[b].mtx", *TIME, "--benchmark-json=run.json")
    result = run_kernels(*words, cwd=tmp_path)
    out = result.stdout
    assert result.returncode == pytest.ExitCode.TESTS_FAILED, out
    assert "4 failed, 7 passed, 1 xfailed" in out
    assert "gnnbench: 6 benchmarks checked against the reference, 4 timed" in out
    lines = re.findall(r"^x?\[ *(\d+)/11\] (\w+) +fwd +torch +(.+?) *$", out, re.MULTILINE)
    assert [int(number) for number, _, _ in lines] == list(range(1, 12))
    shown = {name: said for _, name, said in lines}
    assert (shown["nothing"], shown["broken"], shown["known"]) == ("PASSED", "FAILED", "XFAIL")
    assert shown["huge"] == shown["huge_to_build"] == "OOM at 4194304 GiB", "to run out of memory is a result"
    assert out.count("OOM at 4194304 GiB") == 4
    wrong = r"lazy_sum-forward-torch-\S+: output is wrong: largest error \S+ at \(\d+, \d+\)"
    assert re.search(wrong, out)
    assert "operation 'lost' has no reference: call measure(..., reference=function)" in out
    assert "Traceback" not in out
    theirs = re.findall(r"benchmark.*: \d tests", out)
    assert theirs == ["benchmark: 1 tests"], "pytest-benchmark's table has only the plain benchmark"
    assert out.count("a[b].mtx · hidden 128") == 2
    assert re.search(r"^operation +dir on +time +± +ratio +limit +peak +ops +sync$", out, re.MULTILINE), out
    row = r"^stays +fwd torch +[\d.]+ [µn]s +(\?|[\d.]+%) +1\.5 KiB +1 +0$"
    assert re.search(row, out, re.MULTILINE), out
    places = "may differ by more than the interval: it must: stays fwd torch"
    values = "the benchmark changes its inputs, so each call sees different values: writes fwd torch"
    assert (places in out and values in out) or "more notes: -v prints them" in out
    content = json.loads((tmp_path / "run.json").read_text())
    assert [entry["error"] for entry in content["gnnbench"]["incomplete"]] == ["OOM at 4194304 GiB"] * 2
    ours = [entry["extra_info"].get("gnnbench") for entry in content["benchmarks"]]
    assert {one["spec"]["operation"] for one in ours if one} == {"scale", "writes", "stays"}


@pytest.mark.parametrize(
    ("option", "whole"),
    [
        ("-q", False),
        ("--benchmark-group-by=param:platform", True),
        ("--benchmark-sort=name", True),
        ("--benchmark-columns=min", True),
    ],
)
def test_pytest_benchmark_s_table_has_all_benchmarks_where_an_option_is_about_it(pytester, option, whole):
    config = pytester.parseconfigure(option)
    shorten_table(config)
    benchmarks = [
        {"name": name, "group": name, "params": {"platform": 1}, "extra_info": {"gnnbench": ours}}
        for name, ours in (("theirs", "any"), ("ours", {"version": 1, "measurement": {}}))
    ]
    arguments = {"config": config, "benchmarks": benchmarks, "group_by": config.option.benchmark_group_by}
    groups = config.hook.pytest_benchmark_group_stats(**arguments)
    shown = [one["name"] for _, inner in groups for one in inner]
    assert sorted(shown) == ["ours", "theirs"] if whole else shown == ["theirs"]


def reporting(config):
    screen = io.StringIO()
    return TerminalReporter(config, file=screen), screen


def test_a_terminal_of_80_columns_sees_what_runs_in_lines_that_fit(pytester):
    options = ("--gnn-device=cpu", "--gnn-platform=pyg", "--gnn-all", *SMALL)
    items = collected(pytester, f"import pytest\n{OURS}", *options, "--benchmark-compare=.")
    reporter, screen = reporting(items[0].config)
    reporter._tw.fullwidth, reporter.isatty = 80, True
    progress = SessionProgress(reporter, items)
    assert items[0].config.pluginmanager.register(progress, PROGRESS)
    judging = items[0].config.pluginmanager.get_plugin(GATE)
    for item in items:
        progress.pytest_runtest_logstart(item.nodeid)
        report = pytest.TestReport(item.nodeid, item.location, {}, "passed", None, "call")
        report.gnnbench_suite = {"result": "checked" if item == items[1] else "  1.20 ms"}
        judging._withheld.show([report])  # at once, although the report is withheld
    lines = [line for line in re.split(r"[\r\n]", re.sub(r"\x1b\[[\d;]*\w", "", screen.getvalue())) if line]
    assert max(len(line.rstrip()) for line in lines) <= 80
    assert [line.rstrip() for line in lines][:5] == [
        "rmat:5 · hidden 8 · float32 · int64 · cpu",
        "[1/4] spmm_sum  fwd     pyg    …",
        "[1/4] spmm_sum  fwd     pyg      1.20 ms",
        "[2/4] spmm_sum  f+b     pyg    …",
        "[2/4] spmm_sum  f+b     pyg    checked",
    ]


SPECS = [
    Spec("spmm_sum", "forward", name, "float32", "int64", "rmat:5", 8, "cpu") for name in ("torch", "pyg")
]


def entry(spec, **results):
    nothing = dict.fromkeys(("counted", "out_of_memory", "row", "seconds", "synthetic"))
    return {**nothing, "id": spec.id, "platform": spec.platform, "dataset": spec.dataset, **results}


@pytest.mark.parametrize(("options", "shown"), [((), 3), (("-q",), 3), (("-v",), 8)], ids=str)
def test_the_first_note_stands_below_the_tables_unless_all_are_asked_for(pytester, options, shown):
    reporter, screen = reporting(pytester.parseconfigure("--gnn-device=cpu", *options))
    types = [f"Type{number}" for number in range(6)]
    measurement = Measurement("fake", "sampled", location_ns=1e6, low_ns=1e6, high_ns=1e6, not_copied=types)
    part = BenchmarkPart(FORMAT_VERSION, measurement=measurement)
    terminal.summarize(reporter, [entry(spec, row=(spec, part), seconds=1e-3) for spec in SPECS])
    _, below = re.split(r"pyg +1\.00 ms", screen.getvalue())
    lines = below.partition("\n\n")[0].splitlines()[1:]
    assert len(lines) == shown
    assert lines[0].startswith("f+b: ")
    assert lines[2].endswith("; 5 more notes: -v prints them") == (shown == 3)


STRANGER = """
import pytest

@pytest.mark.parametrize("case", ["{}"])
def test_of_a_stranger(benchmark, case):
    benchmark(sum, [1])
""".format("a_long_parameter-" * 5)


def test_lines_and_wrong_usage_are_broken_at_words_and_ids_at_separators(tmp_path):
    (tmp_path / "test_suite.py").write_text(STRANGER)
    words = ("test_suite.py", "--gnn-layouts=sample", "--benchmark-max-time=0.01")
    spinning = {"OMP_WAIT_POLICY": "ACTIVE"}
    result = screens.run(pytest_on_cpu(*words), tmp_path, environment(**spinning))
    assert result.returncode == 0, result.stdout
    shown = result.stdout[result.stdout.index("\ngnnbench: ") + 1 :].partition("\n---")[0]
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    start = next(number for number, line in enumerate(lines) if "test_suite.py::test_of" in line)
    name, *rest = lines[start : start + 3]
    assert name.endswith("test_suite.py::test_of_a_stranger[a_long_parameter-")
    assert all(line.startswith(" " * 17) and line.endswith(("-", "]")) for line in rest)
    assert (
        "its 95% interval; times are disturbed by idle\n  OpenMP threads: OMP_WAIT_POLICY is ACTIVE; "
        in shown
    )

    words = ("test_suite.py", "--gnn-strict", "--benchmark-compare", "--benchmark-compare-fail=min:5%")
    result = screens.run(pytest_on_cpu(*words), tmp_path, environment())
    assert result.returncode == 4
    lines = result.stdout.split("ERROR: ")[1].strip().splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80
    assert all(line.startswith("  ") for line in lines[1:])


def test_the_first_reason_is_the_one_in_the_last_lines():
    report = pytest.TestReport("test_a.py::a", ("test_a.py", 1, "a"), {}, "passed", None, "call")
    report.outcome = "failed"
    report.longrepr = FailureText([Note("counters differ")])
    fail(report, Note("too long"))
    fail(report, Note("slower", "gnnbench ab"), first=True)
    assert str(report.longrepr) == "slower: gnnbench ab\ncounters differ\ntoo long"
